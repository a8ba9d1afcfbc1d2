"""The types of the parts of a course, and the words that name them.

A phrase of the table counts by one of four rules:
    always   in every position: "homework" in "Homework groups"
    head     as the last words of a noun phrase: "notes" in "Prolog notes", not in "Notes server"
    alone    if the rest is numbers and plain words: "final" in "Information on the final", not in "Final version"
    first    at the beginning: "Prof. Knuth", not "Algorithms, Prof. Knuth", which is the title of a course
A phrase counts in singular and plural; a phrase that stands here in the plural counts only in the plural. # stands for
a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PartType(StrEnum):
    """The type of a part of a course."""

    ASSIGNMENTS = "assignments"
    LECTURES = "lectures"
    SLIDES = "slides"
    EXAMS = "exams"
    QUIZZES = "quizzes"  # and questions
    TUTORIALS = "tutorials"
    READINGS = "readings"
    VIDEOS = "videos"  # and animations
    SYLLABUS = "syllabus"
    STAFF = "staff"
    SCHEDULE = "schedule"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class PartWords:
    """The phrases that name a type, by rule; they are separated by commas."""

    always: str = ""
    head: str = ""
    alone: str = ""
    first: str = ""


WORDS = {
    PartType.ASSIGNMENTS: PartWords(
        always="""
            assignment, homework, home work, hw, hws, hwk, project, exercise, problem set, problem sheet, pset, ps #,
            lab #, labs, lab assignment, lab exercise, lab project, lab report, laboratory assignment,
            laboratory exercise, program #, programming problem, machine problem, solution set, coursework, term paper
            """,
        head="problems, solution",
        alone="lab, laboratory, program, problem",
    ),
    PartType.LECTURES: PartWords(
        always="lecture, lecture note, lecture material, lecture script, class note, classnote, course note",
        head="notes, handout, hand out",
        alone="lesson",
    ),
    PartType.SLIDES: PartWords(
        always="slide, lecture slide, transparency, overhead, viewgraph, foil, powerpoint, power point",
        head="presentations",
    ),
    PartType.EXAMS: PartWords(
        always="exam, examination, midterm, mid term, prelim, test #, tests, study guide, review sheet",
        alone="final, test",
    ),
    PartType.QUIZZES: PartWords(
        always="quiz, quize, self test, self assessment, review question, sample question",
        alone="questions",
    ),
    PartType.TUTORIALS: PartWords(
        always="""
            tutorial, recitation, recitation note, discussion section, discussion session, section note, help session,
            review session, crash course, primer
            """,
        head="tutoring, guide",
        alone="discussion",
    ),
    PartType.READINGS: PartWords(
        always="""
            readings, reading list, reading assignment, reading material, required reading, recommended reading,
            suggested reading, assigned reading, outside reading, additional reading, supplementary reading,
            supplemental reading, further reading, background reading, optional reading, textbook, text book, texts,
            required text, recommended text, course text, class text, course pack, bibliography, reserve list,
            list of papers, literature, reference material, reference book, reference text
            """,
        head="books, references",
        alone="reading, text, book, reference, papers, articles",
    ),
    PartType.VIDEOS: PartWords(
        always="""
            videos, video lecture, lecture video, video tape, videotape, video clip, animations, movies, recordings,
            webcast, screencast, podcast
            """,
    ),
    PartType.SYLLABUS: PartWords(
        always="""
            syllabus, syllabi, course description, class description, catalog description, catalogue description,
            course outline, class outline, topic outline, course overview, class overview, course objective,
            course goal, course content, course topic, topics covered, topics to be covered, list of topics,
            course summary, course information, course info, class information, class info, about the course,
            about the class, about this course, about this class, course requirement, prerequisite, pre requisite,
            required background, recommended background, content of the course
            """,
        alone="outline, overview, description, topics, objective, goal, synopsis, aim, learning outcome",
    ),
    PartType.STAFF: PartWords(
        always="""
            staff, teaching staff, course staff, personnel, instructor, lecturer, teacher, tutors, grader, secretary,
            teaching assistant, teaching fellow, course assistant, graduate assistant, administrative assistant, ta,
            tas, tf, tfs, office hour, consulting hour, contact information
            """,
        alone="""
            people, faculty, assistant, consultant, organizer, coordinator, contact, office, phone, telephone, fax,
            email, e mail
            """,
        first="professor, prof, dr, reaching",
    ),
    PartType.SCHEDULE: PartWords(
        always="""
            schedule, calendar, timetable, important date, due date, deadline, class meeting, meeting time,
            meeting place, class time, class hour, course hour, lecture time, lecture hour, lab hour, time and place,
            time and location, where and when, when and where, week of, week by week
            """,
        alone="week #, meeting, time, place, location, dates, agenda, when, where",
    ),
    PartType.NONE: PartWords(  # named, so that it does not get the type of the heading above it
        always="""
            grade, grading, gradebook, score, statistic, stat, policy, attendance, participation, cheating, plagiarism,
            collaboration, honor code, academic integrity, academic honesty, announcement, news, newsgroup, news group,
            mailing list, email list, bulletin board, faq, frequently asked question, commonly asked question,
            questions and answers, questions ?, questions or comments, questions and comments, comments or questions,
            feedback, survey, evaluation, help, link, resource, tool, account, computer lab, sample program,
            example program, class program, test data, test case, home page, homepage, directory, table of contents,
            enrollment, registration, student, roster, group, team, department, university
            """,
        head="example, code, college, school",
        alone="software, contents, miscellaneous, communication",
    ),
}

PLAIN = """
    a an the my our your this these all some each every course class information info comment current old new past
    previous sample practice required recommended suggested optional additional other more main line online tentative
    detailed brief general official complete short important useful weekly daily fall spring summer winter autumn
    semester quarter term year first second third fourth last next due available st nd rd th i ii iii iv o
    """
