"""Claims about tables that are written once, and tables that grow."""

from discreet.guarantees.base import ASKED, Claim

CODE = ("discreet.publish.tables.*",)
RESTS_ON = (*ASKED, "local", "masked_data", "masks", "models")

_TABLES = "discreet.publish.tables."

CLAIMS = (
    Claim(
        name="written-table",
        statement="write_rows() publishes all rows of a data set in batches, for one charge, and one draw of "
        "each slot is ever seen, whatever crashes, is run again or is taken away: the guarantee of the "
        "release for one row.",
        unit="replace-one: the contents of one slot; places, or the column of slots, and n public",
        measure="that of the release",
        status="proved",
        source="this project",
        proof="tables.md",
        functions=(
            _TABLES + "writing.BatchedRows",
            _TABLES + "writing.write_rows",
            _TABLES + "folders.Staging",
            _TABLES + "folders.PrivateFolder",
            "discreet.step.make_batches",
            "discreet.ledger.progress.Progress",
            "discreet.coding.batches.as_batch",
            "discreet.coding.batches.cut_rows",
        ),
    ),
    Claim(
        name="growing-table",
        statement="GrowingTable publishes each batch once; a person's first row wins, and all later ones are "
        "padding before they are blurred: all batches together cost what one row costs, twice its ε and δ "
        "if places of persons are not public, and their sum where persons may return.",
        unit="replace-one: the rows of one person; numbers of slots public",
        measure="that of the release",
        status="proved",
        source="section 5 of Choi & Lee 2019 with the condition that it needs: this project",
        proof="tables.md",
        functions=(
            _TABLES + "growing.GrowingTable",
            _TABLES + "growing.GrowingRows",
            _TABLES + "growing.History",
            _TABLES + "persons.Persons",
        ),
    ),
)
