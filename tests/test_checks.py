"""The machinery of checks: kinds of answers, one call of a learner's function, what is said."""

import math
import os
import random
import signal
import sys
import threading
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch

from muonlab import polar
from muonlab.classroom import Lesson, guarded, kinds
from muonlab.classroom.exercise import NotRight, compare, judge_answer, rough
from muonlab.classroom.kinds import Wrong, float_array, number_or_array, one_of, real_number, yes
from muonlab_teaching.variants import task

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

# --- kinds -------------------------------------------------------------------------------------

SPARSE = torch.tensor([0.0, 2.5]).to_sparse()


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        *[(real_number, v, 2.5) for v in (2.5, np.float32(2.5), Fraction(5, 2), Decimal("2.5"))],
        *[
            (real_number, v, 2.5)
            for v in (torch.tensor(2.5), torch.tensor([[2.5]]), np.array([2.5]))
        ],
        (real_number, torch.nn.Parameter(torch.tensor(2.5)), 2.5),
        (real_number, torch.tensor(2.5, dtype=torch.bfloat16), 2.5),
        (real_number, np.int64(3), 3),
        *[(yes, v, True) for v in (True, np.True_, torch.tensor(True), torch.tensor([True]), 1)],
        *[(yes, v, False) for v in (False, np.False_, torch.tensor(False), 0)],
        *[(float_array, v, [0.0, 2.5]) for v in ([0, 2.5], (0.0, np.float64(2.5)), SPARSE)],
        *[
            (float_array, v, [0.0, 2.5])
            for v in ([torch.tensor(0), 2.5], {"a": 0, "b": 2.5}.values())
        ],
        (float_array, np.array([[1], [2]]), [[1.0], [2.0]]),
        (float_array, X.long(), X.tolist()),
        *[(number_or_array, v, 2.5) for v in (2.5, torch.tensor(2.5), np.float64(2.5))],
        *[(number_or_array, v, [2.5]) for v in ([2.5], torch.tensor([2.5]))],
        (one_of("up", "down"), np.str_("up"), "up"),
    ],
)
def test_what_an_expert_takes_for_a_kind_is_one(kind, value, expected):
    came = kind(value)
    assert (came.tolist() if isinstance(came, torch.Tensor) else came) == expected
    assert kind is not yes or came is expected


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        *[
            (real_number, v, "Expected one number")
            for v in (True, "2.5", 2.5j, [2.5], X, {2.5}, [])
        ],
        (real_number, torch.tensor(True), "of True and False"),
        *[(yes, v, "Expected True or False") for v in (1.0, "yes", 2, torch.tensor(1.0), [True])],
        *[
            (float_array, v, "Expected numbers")
            for v in (2.5, {1.0, 2.0}, {0: 1.0}, "12", ["1"], [True])
        ],
        (float_array, X > 2, "of True and False"),
        (float_array, [[1.0], [2.0, 3.0]], "different lengths"),
        (float_array, (X, X[0]), r"2 results, of shapes \(2, 3\) and \(3,\)"),
        *[(number_or_array, v, "Expected numbers") for v in ({0: 1.0}, "1, 2", {1.0})],
        *[(one_of("up"), v, "Expected one of 'up'") for v in ("Up", "upper", 1)],
    ],
)
def test_what_is_not_of_a_kind_is_described(kind, value, words):
    with pytest.raises(Wrong, match=words):
        kind(value)


def test_answers_are_equal_when_shape_and_numbers_are():
    alike = [(1.00001, 1.0), (math.inf, math.inf), ([], []), (None, None), ("up", "up")]
    apart = [(1.001, 1.0), ([1.0, math.inf], [5.0, math.inf]), (math.nan, math.nan)]
    apart += [([1.0], 1.0), (None, 0), ("0", 0)]
    assert [pair for pair in alike if not kinds.equal(*pair, 1e-4)] == []
    assert [pair for pair in apart if kinds.equal(*pair, 1e-4)] == []


def test_the_code_in_a_message_makes_the_value_again():
    for value in (0.1, 3.0, -2, "up", None, [1, 2.5], (0.5,), {"a": [1.0]}, {"v"}, torch.sign):
        assert eval(kinds.code(value), {"torch": torch}) == value
    for value in (X, X.double(), X.long(), torch.tensor([0.1, math.inf]), torch.tensor(2.0)):
        again = eval(kinds.code(value), {"torch": torch, "math": math})
        assert again.dtype == value.dtype
        assert torch.equal(again, value)


def test_a_number_is_rounded_to_its_nearest_neighbour():
    for came in (5.67, 5.666, np.float32(5.6657)):
        assert kinds.is_rounded(came, 5.66571, 2, 0.01), came
    for came in (5.7, 5.66, 5.68, 5.6674):
        assert not kinds.is_rounded(came, 5.66571, 2, 0.01), came
    for came in (5.7, 5.67):
        assert kinds.is_rounded(came, 5.66571, 1, 0.01), came


def test_numbers_that_differ_are_shown_different():
    assert kinds.as_shown(torch.tensor([-0.0, 1.0])) == "[0, 1]"
    assert kinds.apart(2.5, 0.5714285) == ("2.5", "0.5714")
    assert kinds.apart(0.123456, 0.123457) == ("0.123456", "0.123457")
    assert "(50,) numbers" in kinds.as_shown(torch.zeros(50))


# --- one call ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        (lambda tensor: tensor.add_(1), X),
        (lambda values: values.append(1), [1]),
        (lambda values: values.update(b=1), {"a": 1}),
        (lambda values: values[0].fill_(7), [torch.zeros(2)]),
        (lambda values: values.fill(7), np.zeros((2, 2))),
    ],
)
def test_what_a_function_is_given_stays_as_it_was(answer, given):
    before = kinds.code(given)
    with pytest.raises(Wrong, match="changed its argument 1 in place"):
        guarded.call(answer, given, none=True)
    assert kinds.code(given) == before


def turns(x):
    while True:
        x = x + 1


def turns_and_catches(x):
    while True:
        try:
            x = x + 1
        except:  # noqa: E722  as students write it
            x = 0


def turns_inside_and_catches(x):
    while True:
        try:
            turns(x)
        except BaseException:
            continue


def sleeps(x):
    time.sleep(10**6)


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("answer", [turns, turns_and_catches, turns_inside_and_catches, sleeps])
def test_a_function_without_end_is_stopped(answer, monkeypatch):
    monkeypatch.setattr(guarded, "SECONDS", 0.2)
    before = sys.gettrace(), signal.getsignal(signal.SIGALRM)
    with pytest.raises(Wrong, match=r"not ended after 0\.2 seconds") as wrong:
        guarded.call(answer, 1)
    assert wrong.value.example == f"Try `{answer.__name__}(1)`."
    assert guarded.call(lambda x: x, 1, returns=real_number) == 1
    assert (sys.gettrace(), signal.getsignal(signal.SIGALRM)) == before


def test_a_kernel_may_run_cells_in_another_thread():
    values = []
    thread = threading.Thread(target=lambda: values.append(guarded.call(lambda x: x, 1)))
    thread.start()
    thread.join(300)
    assert values == [1]


def meddles(x):
    torch.manual_seed(1)
    np.random.seed(1)
    random.seed(1)
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    np.seterr(all="raise")
    torch.set_default_device("meta")
    return 1.0


def state():
    return (
        *(torch.rand(3).tolist(), np.random.rand(3).tolist(), random.random()),
        *(torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_default_device()),
        np.geterr(),
    )


def test_an_answer_leaves_no_trace():
    for seed in (torch.manual_seed, np.random.seed, random.seed):
        seed(0)
    expected = state()
    for seed in (torch.manual_seed, np.random.seed, random.seed):
        seed(0)
    assert guarded.call(meddles, 1, returns=real_number) == 1
    assert state() == expected


def stub(x): ...  # your code


def ends_the_program(x):
    raise SystemExit(1)


def own_error(x):
    raise NotImplementedError


def torch_error(x):
    return torch.ops.aten.nonzero(torch.zeros(2, device="meta"))


def no_return_but_dots(x):
    """Adds a dimension."""
    x[..., None]


def helper(x):
    y = 0
    return x / y


def calls_a_helper(x):
    return helper(x)


def in_a_list(x):
    y = 0
    return [x / y for _ in range(3)]


@pytest.mark.parametrize(
    ("answer", "given", "error", "words"),
    [
        (ends_the_program, 1, Wrong, r"`raise SystemExit\(1\)`, raised SystemExit: 1\."),
        *[(f, 1, guarded.NotYet, "in place of the dots") for f in (stub, lambda x: ...)],
        (own_error, 1, guarded.NotYet, "in place of the dots"),
        (torch_error, 1, Wrong, "raised NotImplementedError"),
        (no_return_but_dots, X, Wrong, "returned None. Does each way"),
        (lambda x: 1.0 if x > 5 else None, 1, Wrong, "returned None. Does each way"),
        (calls_a_helper, 1, Wrong, "`return x / y`, raised ZeroDivisionError"),
        (in_a_list, 1, Wrong, r"`return \[x / y .*, raised ZeroDivisionError"),
        (lambda: 1, 1, Wrong, "raised TypeError: .* takes 0 positional arguments"),
        (3, 1, Wrong, "Expected a function"),
    ],
)
def test_the_diagnosis_names_the_place(answer, given, error, words):
    with pytest.raises(error, match=words):
        guarded.call(answer, given, returns=real_number)


def test_none_is_an_answer_where_it_may_be():
    assert guarded.call(lambda x: 1.0 if x > 5 else None, 1, none=True) is None
    with pytest.raises(guarded.NotYet):
        guarded.call(lambda x: None, 1, none=True)


# --- compare -----------------------------------------------------------------------------------

CASES = [(2,), (3,), (5,)]


def squares(x):
    mistakes = [(2 * x, "Doubled."), (x, "Unchanged."), (x**3 if x > 2 else math.nan, "Cubed.")]
    return x**2, mistakes


@pytest.mark.parametrize(
    ("answer", "options", "message", "example"),
    [
        (lambda x: x + x, {}, "Doubled.", "Try `f(3)`: expected 9, got 6."),
        (lambda x: x, {}, "Unchanged.", "Try `f(2)`: expected 4, got 2."),
        (lambda x: 2, {}, "This does not fit.", "Try `f(2)`: expected 4, got 2."),
        (lambda x: 6 if x == 3 else x * x, {}, "This does not fit.", "f(3)`: expected 9, got 6."),
        (lambda x: 6.0 if x == 3 else x * x, {}, "Doubled.", "f(3)`: expected 9, got 6."),
        (lambda x: 1, {"otherwise": lambda came, x: f"{came}, {x}"}, "1, 2", "got 1."),
        (lambda x: 1 / (x - 3), {}, "This does not fit.", "f(2)`: expected 4, got -1."),
        (lambda x: 4 if x == 2 else 1 / 0, {}, "raised ZeroDivisionError", "Try `f(3)`."),
        (lambda x: polar(torch.eye(x)).sum() * x, {"by_hand": True}, "polar` made it", ""),
        (lambda x: polar(torch.eye(x)).sum() + 9, {"by_hand": True}, "called `muonlab.polar`", "2"),
    ],
)
def test_the_diagnosis_fits_all_cases_and_the_first_wrong_one_is_shown(
    answer, options, message, example
):
    with pytest.raises(Wrong) as wrong:
        compare(answer, CASES, squares, returns=real_number, **options)
    assert message in str(wrong.value)
    assert example in wrong.value.example


def test_what_is_rounded_is_right_while_it_says_enough():
    def asks(digits):
        cases = [(1.0,), (2.0,)]
        compare(lambda x: round(x / 3, digits), cases, lambda x: (x / 3, []), returns=real_number)

    asks(3)
    asks(4)
    with pytest.raises(Wrong, match="You rounded"):
        asks(2)


def test_a_shape_that_fits_no_mistake_is_named():
    with pytest.raises(Wrong, match=r"Expected the shape \(2, 3\); your result has \(3, 2\)"):
        compare(lambda M: 2 * M.T, [(X,)], lambda M: (M, []), returns=float_array)


@pytest.mark.parametrize("many", [torch.zeros(3000, 3000), [0.0] * 10**7])
def test_a_result_of_millions_of_numbers_is_told_its_shape_at_once(many):
    with pytest.raises(Wrong, match=r"Expected one number; your result has \((3000|10000000),"):
        compare(lambda x: many, [(1.0,)], lambda x: (x, ()), returns=float_array)
    with pytest.raises(Wrong, match=r"Expected one number; your result has \(2,\)"):
        compare(lambda x: [x, x], [(1.0,)], lambda x: (x, ()), returns=float_array)


def test_one_entry_is_a_number_where_a_number_is_right():
    for one in (2.5, torch.tensor([2.5]), np.array([[2.5]])):
        compare(lambda x, one=one: one, CASES[:1], lambda x: (2.5, []), returns=number_or_array)


def test_rough_numbers_are_shown_in_full():
    values = rough(0, 3, 4)
    assert torch.equal(eval(kinds.code(values)), values)
    assert values.all()


# --- grades ------------------------------------------------------------------------------------


def test_a_graded_check_raises_what_it_would_say(capsys):
    lesson = Lesson("00")
    with pytest.raises(NotRight) as raised:
        lesson.check("00-e2", lambda m: 3.3, grade=True)
    assert str(raised.value) == repr(judge_answer("00-e2", lambda m: 3.3))
    with pytest.raises(NotRight, match="not yet"):
        lesson.check("00-e2", lambda m: None, grade=True)
    lesson.check("00-e2", task("00-e2").solution(), grade=True)
    assert "right" in capsys.readouterr().out
