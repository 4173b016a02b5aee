"""The way through the studio, page by page, as its own forms ask."""

from __future__ import annotations

from clinic_studio import SECRET, open_ledger


def test_from_a_table_to_a_report(clinic, tmp_path):
    assert clinic.press("/ask/add", kind="mean", column="cost", by="ward") == "/ask#plan"
    page = clinic.see("/ask")
    assert "mean cost by ward" in page
    assert "±" in page
    place = clinic.release("questions")
    result = clinic.see(place)
    assert "children" in result
    assert "Charged: <strong>ε = 0.5</strong>" in result
    report = clinic.get(f"{place}/report.html")
    assert report.status_code == 200
    assert "attachment" in report.headers["content-disposition"]
    assert "mean cost by ward" in report.text
    assert len(open_ledger(tmp_path).entries()) == 2
    for text in (page, result, report.text):
        assert SECRET not in text
