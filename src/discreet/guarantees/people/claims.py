"""Claims about questions that count persons."""

from discreet.guarantees.base import ASKED, Claim

CODE = ("discreet.queries.people",)
RESTS_ON = (*ASKED, "check")


CLAIMS = (
    Claim(
        name="counted-people",
        statement="Counts of persons, by group or by their number of rows, move by at most "
        "their stated sensitivity between neighbours, however many rows a person has.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="as asked",
        status="proved",
        source="this project; histograms: Dwork, McSherry, Nissim & Smith 2006",
        proof="people.md",
        functions=(
            "discreet.queries.people.CountPeople.coded",
            "discreet.queries.people.CountPeople.sensitivity",
            "discreet.queries.people.RowsPerPerson.parts",
            "discreet.queries.people.RowsPerPerson.sensitivity",
            "discreet.queries.people.RowsPerPerson.vector",
            "discreet.queries.base.Query.narrow",
            "discreet.coding.persons.keep_rows",
        ),
    ),
)
