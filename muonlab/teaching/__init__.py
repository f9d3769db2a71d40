"""What teachers use: hand-ins that grade themselves, a class's predictions, one text for all."""
