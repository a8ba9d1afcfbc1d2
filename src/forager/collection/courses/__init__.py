"""Course content: typed parts of course pages, one record a course, and the words of a subject out of many courses."""

from forager.collection.courses.accuracy import Accuracy, Label, accuracy, read_labels
from forager.collection.courses.keywords import Keyword, keywords
from forager.collection.courses.kinds import Kind
from forager.collection.courses.naming import named
from forager.collection.courses.parts import Found, Part, Reference, parts_of
from forager.collection.courses.record import Course, course_of, courses

__all__ = [
    "Accuracy",
    "Course",
    "Found",
    "Keyword",
    "Kind",
    "Label",
    "Part",
    "Reference",
    "accuracy",
    "course_of",
    "courses",
    "keywords",
    "named",
    "parts_of",
    "read_labels",
]
