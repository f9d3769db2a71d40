"""Answers to the exercise of lesson 00, as students write them: right ones and wrong ones."""

import numpy as np
import torch
from torch.linalg import svdvals


def sort_it_myself(matrix):
    values = sorted(svdvals(matrix).tolist())
    return values[-1] / values[0]


def through_the_gram_matrix(matrix):
    M = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    eigenvalues = torch.linalg.eigvalsh(M.double() @ M.double().T)
    return (eigenvalues.max() / eigenvalues.min()).sqrt()


def the_gram_matrix_forgot_the_root(matrix):
    M = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    eigenvalues = torch.linalg.eigvalsh(M @ M.T)
    return eigenvalues[-1] / eigenvalues[0]


def gram_of_the_wrong_side(matrix):
    eigenvalues = torch.linalg.eigvalsh(matrix.T @ matrix)
    return (eigenvalues[-1] / eigenvalues[0]).sqrt()


def prints(matrix):
    values = svdvals(matrix)
    print(values[0] / values[-1])


def only_for_wide(matrix):
    values = svdvals(matrix)
    if matrix.shape[0] <= matrix.shape[1]:
        return values[0] / values[-1]


def forgot_to_call(matrix):
    return matrix.norm


ANSWERS = {
    "00-e1": {
        "right": {
            "two digits": lambda m: round((svdvals(m)[0] / svdvals(m)[-1]).item(), 2),
            "tensor": lambda m: svdvals(m)[0] / svdvals(m)[-1],
            "numpy": lambda m: np.linalg.cond(m.numpy()),
            "numpy svd": lambda m: np.divide(*np.linalg.svd(m.numpy())[1][[0, -1]]),
            "svd with U and V": lambda m: torch.svd(m).S.max().item() / torch.svd(m).S.min().item(),
            "two norms": lambda m: torch.linalg.matrix_norm(m, 2) / torch.linalg.matrix_norm(m, -2),
            "sorted": sort_it_myself,
            "eigenvalues": through_the_gram_matrix,
            "one entry": lambda m: svdvals(m)[:1] / svdvals(m)[-1:],
        },
        "wrong": {
            "index 1": lambda m: svdvals(m)[1] / svdvals(m)[-1],
            "index 2 is the last": lambda m: svdvals(m)[0] / svdvals(m)[2],
            "minus": lambda m: svdvals(m)[-1] - svdvals(m)[0],
            "mean": lambda m: svdvals(m).max() / svdvals(m).mean(),
            "inverse": lambda m: svdvals(m).min() / svdvals(m).max(),
            "all": lambda m: svdvals(m) / svdvals(m)[-1],
            "row norms": lambda m: m.norm(dim=1).max() / m.norm(dim=1).min(),
            "column norms": lambda m: m.norm(dim=0).max() / m.norm(dim=0).min(),
            "spread": lambda m: svdvals(m).std() / svdvals(m).mean(),
            "rank": lambda m: torch.linalg.matrix_rank(m),
            "entries": lambda m: (m.max() / m.min()).item(),
            "Frobenius": lambda m: m.norm() / svdvals(m)[-1],
            "gram": the_gram_matrix_forgot_the_root,
            "gram of the wrong side": gram_of_the_wrong_side,
            "prints": prints,
            "wide only": only_for_wide,
            "no call": forgot_to_call,
            "words": lambda m: f"{svdvals(m)[0] / svdvals(m)[-1]:.2f}",
            "one digit": lambda m: round((svdvals(m)[0] / svdvals(m)[-1]).item(), 1),
            "whole": lambda m: int(svdvals(m)[0] / svdvals(m)[-1]),
            "determinant": lambda m: torch.linalg.det(m),
            "diagonal": lambda m: m.diagonal().max() / m.diagonal().min(),
            "condition in norm 1": lambda m: torch.linalg.cond(m, 1),
        },
    },
}
