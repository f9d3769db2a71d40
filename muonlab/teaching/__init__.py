"""What teachers use: the class's predictions on one page, and one text for all."""
