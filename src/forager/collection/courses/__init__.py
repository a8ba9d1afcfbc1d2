"""From the pages of a crawl to courses: their typed parts, one record for each course, and the words of a subject.

part_types   the types of parts, and the words that name them
naming       the type that a heading or an anchor names
numbers      the numbers of courses, such as "CS 302"
headings     the headings of a page
parts        the typed parts of a page
record       one record for each course, with its name, its number and its parts
export       the courses of a project, as a file
keywords     the words of a subject, from many courses
accuracy     compares the types of parts with those that a person gave
"""

from forager.collection.courses.accuracy import PartAccuracy, PartLabel, accuracy, read_labels
from forager.collection.courses.keywords import CourseKeyword, keywords
from forager.collection.courses.naming import named_type
from forager.collection.courses.part_types import PartType
from forager.collection.courses.parts import CoursePart, FoundBy, PartLink, parts_of
from forager.collection.courses.record import Course, course_of, courses

__all__ = [
    "Course",
    "CourseKeyword",
    "CoursePart",
    "FoundBy",
    "PartAccuracy",
    "PartLabel",
    "PartLink",
    "PartType",
    "accuracy",
    "course_of",
    "courses",
    "keywords",
    "named_type",
    "parts_of",
    "read_labels",
]
