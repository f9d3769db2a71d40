"""One module a lesson: function eN diagnoses an answer to exercise NN-eN."""
