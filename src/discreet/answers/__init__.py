"""Many questions at once: one budget for several, a description of a table, a rehearsal on made-up rows."""

from discreet.answers.description import Description, Figure
from discreet.answers.several import Answers, AnswersPlan, Question, plan_questions

__all__ = ["Answers", "AnswersPlan", "Description", "Figure", "Question", "plan_questions"]
