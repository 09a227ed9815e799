"""The explain page in a real Chromium: pointing, clicking, keyboard alone, dark and light, any text, nothing sent."""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from msgspec import structs

from seqloom.explain.document import VIEWS, Beam, Explained, Heads
from seqloom.explain.page import frame, page
from seqloom.explain.points import Curve
from tests import explain_documents as documents

WORD = "animal"  # token 1 of the source and of every target


@pytest.fixture
def show(browser: Any, tmp_path: Any) -> Iterator[Callable[..., Any]]:
    """Opens the page of a document from a file; a complaint of the console or a request fails the test."""
    contexts, complaints, requests = [], [], []

    def show(document: Explained, text: str | None = None, **options: Any) -> Any:
        file = tmp_path / f"{len(contexts)}.html"
        file.write_text(text or page(document), "utf-8")
        contexts.append(browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **options}))
        opened = contexts[-1].new_page()
        opened.on("console", lambda message: complaints.append(message.text))
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.on("request", lambda request: requests.append(request.url))
        opened.goto(file.as_uri())
        return opened

    yield show
    for context in contexts:
        context.close()
    assert not complaints, complaints
    outside = [url for url in requests if not url.startswith((tmp_path.as_uri(), "data:", "blob:", "about:"))]
    assert not outside, "nothing leaves the machine"


def lit(opened: Any, place: str = "") -> list[str]:
    return opened.locator(f"{place} .lit").all_text_contents()


def pixel(opened: Any, picture: Any, row: int, column: int) -> list[int]:
    """The colour of a cell, read from the canvas."""
    return picture.locator("canvas").evaluate(
        """(canvas, [row, column, width]) => {
          const scale = canvas.width / canvas.getBoundingClientRect().width, copy = document.createElement("canvas");
          const pen = copy.getContext("2d"), place = [column, row].map((at) => (at + .5) * width * scale);
          pen.drawImage(canvas, -place[0], -place[1]);
          return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
        }""",
        [row, column, 36],  # the size of a cell when a model is alone
    )


def test_every_view_is_drawn_with_a_table_and_words_about_it(show):
    opened = show(documents.everything())
    ids = opened.locator("section[id]").evaluate_all("cards => cards.map((card) => card.id.replace('view-', ''))")
    assert ids == list(VIEWS)
    for view in VIEWS:
        card = opened.locator(f"#view-{view}")
        assert "What it does not mean:" in card.inner_text()
        pictures = card.locator("figure").count()
        tables = card.locator("details.numbers").count() + card.locator("table").count()
        assert tables >= max(1, pictures), f"{view}: a table for every picture"
    assert opened.locator("nav a").count() == len(VIEWS)


def test_a_long_answer_without_spaces_stays_on_a_narrow_page(show):
    document = documents.everything()
    lanes = [structs.replace(lane, answers=["se" * 200]) for lane in document.lanes]
    opened = show(structs.replace(document, lanes=lanes), viewport={"width": 400, "height": 800})
    assert opened.locator(".answer").first.inner_text() == "se" * 200
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_model_that_lacks_a_view_says_why_in_that_view(show):
    opened = show(documents.lineage())
    why = "sutskever: this model has none; models with attention and Transformers have it"
    assert opened.locator("#view-attention .missing").all_inner_texts() == [why]
    assert opened.locator("#view-attention .lane").count() == 2
    assert opened.locator("section.first .note").count() == 0, "not twice"


def test_a_table_holds_the_numbers_of_the_picture(show):
    opened = show(Explained(lanes=[documents.recurrent()]))
    card = opened.locator("#view-attention")
    card.get_by_text("Table: attention").click()
    rows = card.locator("tbody tr").all_inner_texts()
    assert rows[0].split("\t")[:2] == ["l'", "0.777"]
    assert card.locator("thead th").all_inner_texts()[1:3] == ["the", "animal"]
    opened.get_by_text("Table: Steps of rnnsearch").click()
    first = opened.locator("section.first tbody tr").nth(3).inner_text().split("\t")
    assert first[:3] == ["a", "20 %", "2"] and "other3 60 %" in first[5]


def test_pointing_at_a_word_lights_it_up_in_every_view_and_lane(show):
    opened = show(documents.lineage())
    opened.locator(".line.source .chip").nth(1).hover()
    for view in ("attention", "self", "gates", "gradients", "attribution", "states"):
        assert WORD in lit(opened, f"#view-{view}"), view
    assert opened.locator("#view-gradients .lane").count() == 3
    for number in range(3):
        assert WORD in lit(opened, f"#view-gradients .lane >> nth={number} >>")
    opened.locator("h1").hover()
    assert lit(opened) == []


def test_pointing_at_a_cell_says_its_number_and_lights_the_output_word(show):
    opened = show(documents.lineage())
    cells = opened.locator("#view-attention .cells").first
    cells.hover(position={"x": 14, "y": 14})
    assert "l' · the: 0.777" in opened.locator("#view-attention .readout").first.inner_text()
    chips = opened.locator(".line.target .chip.lit").all_text_contents()
    assert [chip.strip() for chip in chips] == ["l'"] * 3, "the same word in every lane"


def test_models_with_other_tokens_light_up_by_their_characters(show):
    """One model reads "animal" as two tokens: both light up."""
    whole, cut = documents.recurrent(), documents.recurrent(model="pieces")
    tokens = [{"id": 1, "piece": "ani", "span": [4, 7]}, {"id": 2, "piece": "mal", "span": [7, 10]}]
    document = json.loads(Explained(lanes=[whole, cut]).to_json())
    document["lanes"][1]["source"]["tokens"][1:2] = tokens
    document["lanes"][1]["maps"] = []
    opened = show(Explained.from_json(json.dumps(document)))
    opened.locator(".line.source .chip").nth(1).hover()
    assert [text.strip() for text in lit(opened, ".sentence")] == ["animal", "ani", "mal"]


def test_a_click_keeps_the_word_and_shows_what_else_could_have_been_written(show):
    opened = show(Explained(lanes=[documents.recurrent()]))
    chip = opened.locator(".line.target .chip").nth(3)
    chip.click()
    opened.locator("h1").hover()
    assert chip.get_attribute("aria-pressed") == "true"
    assert [text.strip() for text in lit(opened, ".sentence")] == ["a"]
    options = opened.locator(".options button").all_inner_texts()
    assert [option.split() for option in options] == [["other3", "60", "%"], ["a", "20", "%"]]
    chip.click()
    opened.locator("h1").hover()
    assert lit(opened, ".sentence") == []


def test_layers_and_heads_can_be_chosen(show):
    opened = show(Explained(lanes=[documents.transformer()]))
    card = opened.locator("#view-attention")
    assert "cross-attention, layer 2, mean of all heads" in card.inner_text()
    card.get_by_label("Layer", exact=True).select_option(label="cross-attention, layer 1")
    card.get_by_label("Head", exact=True).select_option(label="3")
    assert "cross-attention, layer 1, head 3" in card.inner_text()
    opened.get_by_role("button", name="decoder self-attention, layer 1, head 2: next").click()
    assert "decoder self-attention, layer 1, head 2" in opened.locator("#view-self").inner_text()
    opened.locator("#view-heads").get_by_label("Show", exact=True).select_option("spread")
    assert opened.locator("#view-heads .head.faded").count() == 24 - 3


def test_gaps_are_named_by_what_fills_them(show):
    opened = show(Explained(lanes=[documents.masked()]))
    assert opened.locator(".line.target .chip").all_inner_texts() == ["reads", "old"]
    assert opened.locator("#view-gradients .left span").all_inner_texts() == ["reads", "old"]
    assert opened.locator("#view-gradients .corner").inner_text().split("\n") == ["source →", "↓ output"]
    opened.locator(".line.target .chip").nth(1).hover()
    assert [text.strip() for text in lit(opened, ".line.source")] == ["___"]


def test_a_picture_fits_the_window_while_its_tokens_stay_legible(show):
    """The cells shrink with the window, so that 25 tokens are in sight."""
    words = {"source": " ".join(["a"] * 24), "target": " ".join(["b"] * 24)}
    opened = show(Explained(lanes=[documents.recurrent(**words)]), viewport={"width": 1280, "height": 900})
    scroll = opened.locator("#view-attention .scroll").first
    assert scroll.evaluate("one => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight")


def test_text_in_charts_keeps_its_size_on_a_narrow_screen(show):
    opened = show(documents.lineage(), viewport={"width": 360, "height": 800})
    label = opened.locator("#view-states svg text").first
    size = "one => one.getBoundingClientRect().height"
    opened.wait_for_function("document.querySelector('#view-states svg').style.getPropertyValue('--times') > 1.5")
    assert label.evaluate(size) > 12


@pytest.mark.parametrize("width", [400, 1280])
def test_no_number_beside_an_axis_covers_its_name(show, width):
    """A learning rate has long numbers: they are written in a smaller unit."""
    opened = show(Explained(curves=documents.curves()), viewport={"width": width, "height": 900})
    opened.wait_for_function("document.querySelector('#view-curves svg.chart').style.getPropertyValue('--times')")
    names = opened.locator("#view-curves svg.chart text.label[transform]")
    assert "learning rate, in 1e-3" in names.all_text_contents()
    covered = """charts => charts.flatMap(chart => {
      const boxes = which => [...chart.querySelectorAll(which)].map(one => one.getBoundingClientRect());
      const [name] = boxes("text.label[transform]"), numbers = boxes("text[text-anchor=end]");
      if (numbers.length < 2) return ["too few numbers"];
      return numbers.filter(one => one.left < name.right || one.left < chart.getBoundingClientRect().left);
    })"""
    assert opened.locator("#view-curves svg.chart").evaluate_all(covered) == []


def test_a_gate_opens_its_units_sorted_as_asked(show):
    opened = show(Explained(lanes=[documents.recurrent()]))
    button = opened.get_by_role("button", name="Units of forget").first
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    units = opened.locator("#view-gates .units").first
    assert "encoder forward, layer 1, forget: every unit" in units.inner_text()
    units.get_by_label("Sort units by").select_option("number")
    units.locator("summary").click()
    assert units.locator("tbody th").all_inner_texts()[:3] == ["unit 0", "unit 1", "unit 2"]
    assert units.locator("tbody tr").first.inner_text().split("\t")[1] == "0.502", "(sin 0 + 1) / 2 in 255 steps"
    button.click()
    assert units.inner_text() == ""


def test_the_search_tree_explains_its_branches_and_hides_the_pruned(show):
    opened = show(Explained(lanes=[documents.recurrent()]))
    card = opened.locator("#view-beam")
    card.locator(".node.pruned").first.hover()
    said = card.locator(".readout").inner_text()
    assert said.startswith("lost1 — pruned, rank 3 of step 1: the beam keeps 2; score -3")
    assert "Model error" in card.inner_text()
    card.get_by_label("pruned branches").uncheck()
    assert card.locator(".node.pruned").count() == 0
    assert card.locator(".node.best").count() == 15


def test_the_lens_stands_below_what_the_model_wrote(show):
    opened = show(Explained(lanes=[documents.recurrent()]))
    table = opened.locator("#view-lens table")
    assert table.locator("thead th").all_inner_texts() == ["written:", "l'", "animal"]
    assert table.locator("tbody tr").nth(1).inner_text().split() == [
        "2",
        "animal",
        "l'",
        "67",
        "%",
        "animal",
        "67",
        "%",
    ]


def test_the_keyboard_alone_is_enough(show):
    opened = show(Explained(lanes=[documents.transformer()]))
    opened.locator(".line.source .chip").first.focus()
    opened.keyboard.press("ArrowRight")
    assert WORD in lit(opened, "#view-attention")
    opened.keyboard.press("End")
    assert "</s>" in lit(opened, "#view-attention")
    opened.locator("#view-attention .cells").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        opened.keyboard.press(key)
    assert opened.locator("#view-attention .readout").inner_text().startswith("n' · animal: ")
    opened.keyboard.press("Enter")
    assert opened.locator(".chip[aria-pressed=true]").inner_text().strip() == "n'"
    opened.keyboard.press("Escape")
    assert opened.locator(".chip[aria-pressed=true]").count() == 0
    opened.locator("#view-beam svg.tree").focus()
    opened.keyboard.press("ArrowRight")
    opened.keyboard.press("ArrowDown")
    assert "rival2" in opened.locator("#view-beam .readout").inner_text()
    opened.locator("#view-self svg.arcs").focus()
    opened.keyboard.press("ArrowRight")
    assert opened.locator("#view-self .readout").first.inner_text().startswith(f"{WORD} looks at ")
    assert WORD in lit(opened, "#view-attention")
    opened.keyboard.press("Enter")
    assert opened.locator(".chip[aria-pressed=true]").first.inner_text().strip() == WORD
    opened.keyboard.press("Escape")
    opened.locator("#view-attribution svg.balance").focus()
    opened.keyboard.press("End")
    opened.keyboard.press("ArrowLeft")
    said = opened.locator("#view-attribution .readout").first.inner_text()
    assert "% source" in said and said.split(":")[0] in "".join(lit(opened, ".line.target"))
    opened.locator("#view-states svg").first.focus()
    opened.keyboard.press("ArrowRight")
    assert opened.locator("#view-states .readout").first.inner_text().startswith("animal: ")
    opened.locator("#view-gradients svg.chart").focus()
    opened.keyboard.press("ArrowRight")
    assert "distance 1: trained" in opened.locator("#view-gradients figure").last.locator(".readout").inner_text()


def test_tab_reaches_every_picture(show):
    opened = show(Explained(lanes=[documents.transformer()], curves=documents.curves(), phrases=[documents.phrases()]))
    wanted = opened.locator(".cells, svg.chart, svg.tree, select, .head").count()
    reached = opened.evaluate(
        """() => [...document.querySelectorAll(".cells, svg.chart, svg.tree, select, .head")].filter((one) => {
          one.focus(); return document.activeElement === one && one.tabIndex >= 0;
        }).length"""
    )
    assert wanted > 20
    assert reached == wanted
    nameless = "[tabindex='0']:not([aria-label]):not(button), [role=application]:not([aria-label])"
    assert opened.locator(nameless).count() == 0


@pytest.mark.parametrize(
    "document",
    [
        Explained(),
        documents.everything(source="", target=""),
        documents.everything(source="a", target="b"),
        Explained(lanes=[documents.tagger()]),
        Explained(lanes=[documents.lane("m", "rnn", heads=Heads(0, []), beam=Beam(1, 1.0, []))]),
        Explained(curves=[Curve("r", "loss", "", [5], [1.0]), Curve("r", "none", "", [], [])]),
    ],
    ids=["nothing", "no words", "one word", "tags", "empty views", "one step"],
)
def test_odd_documents_are_drawn_too(show, document):
    opened = show(document)
    for summary in opened.locator("details.numbers summary").all():
        summary.click()
    assert opened.locator("main").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_dark_and_light_follow_the_reader(show, theme):
    opened = show(Explained(lanes=[documents.recurrent()]), color_scheme=theme)
    background = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(246, 245, 241)", "dark": "rgb(20, 21, 28)"}[theme]
    picture = opened.locator("#view-attention figure")
    empty, full = pixel(opened, picture, 0, 9), pixel(opened, picture, 0, 0)
    assert (sum(empty) > sum(full)) == (theme == "light"), "much attention is dark on white and bright on black"
    opened.get_by_role("button", name="Light or dark").click()
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") != background
    again = pixel(opened, picture, 0, 9), pixel(opened, picture, 0, 0)
    assert (sum(again[0]) > sum(again[1])) == (theme == "dark")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_word_that_the_lens_is_sure_of_can_be_read(show, legible, theme):
    lane = documents.transformer()
    sure = [msgspec.structs.replace(one, log_probs=[0.0] * len(one.pieces)) for one in lane.lens]
    opened = show(Explained(lanes=[msgspec.structs.replace(lane, lens=sure)]), color_scheme=theme)
    opened.wait_for_selector("#view-lens td:has-text('100 %')")
    legible(opened, "#view-lens")


def test_a_right_to_left_sentence_runs_from_right_to_left(show):
    opened = show(documents.lineage(**documents.RIGHT_TO_LEFT))
    chips = opened.locator(".line.source .chip")
    boxes = [chips.nth(at).bounding_box()["x"] for at in range(3)]
    assert boxes == sorted(boxes, reverse=True)
    chips.first.focus()
    opened.keyboard.press("ArrowLeft")
    assert lit(opened, ".sentence .source") == [documents.RIGHT_TO_LEFT["source"].split()[1]]


def test_sixty_tokens_scroll_inside_their_view_and_keep_their_headers(show):
    opened = show(documents.everything(**documents.long_texts()))
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
        "the page is not wider than the window"
    )
    scroll = opened.locator("#view-attention .lane").first.locator(".scroll").first
    inside = scroll.evaluate("one => [one.scrollWidth > one.clientWidth, one.scrollHeight > one.clientHeight]")
    assert inside == [True, True]
    scroll.evaluate("one => one.scrollTo(300, 300)")
    header = scroll.evaluate(
        """one => { const box = one.getBoundingClientRect(), top = one.querySelector(".top").getBoundingClientRect(),
          left = one.querySelector(".left").getBoundingClientRect();
          return [top.top - box.top, left.left - box.left]; }"""
    )
    assert [round(place) for place in header] == [0, 0]
    opened.locator("#view-attention .cells").first.focus()
    for _ in range(5):
        opened.keyboard.press("ArrowDown")
    assert "mot5" in opened.locator("#view-attention .readout").first.inner_text()


@pytest.mark.parametrize("width", [360, 1800])
def test_narrow_and_wide_windows(show, width):
    opened = show(documents.lineage(), viewport={"width": width, "height": 800})
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tops = {round(lane.bounding_box()["y"]) for lane in opened.locator("#view-gradients .lane").all()}
    assert len(tops) == (3 if width == 360 else 1), "lanes are beside each other where there is room"


def test_stacked_models_share_one_token_axis(show):
    opened = show(documents.lineage(), viewport={"width": 1800, "height": 800})
    opened.get_by_role("button", name="Stack models").click()
    lanes = opened.locator("#view-gradients .lane").all()
    lefts = {round(lane.locator(".cells").first.bounding_box()["x"]) for lane in lanes}
    assert len(lefts) == 1 and len(lanes) == 3


def test_text_of_a_model_stays_text(show):
    opened = show(documents.everything(**documents.HOSTILE))
    assert opened.locator("img, script:not([id]) + script, iframe").count() == 0
    assert "<img" in opened.locator(".line.source").inner_text()


def test_a_page_that_was_tampered_with_runs_nothing_else(browser, tmp_path):
    """The policy refuses a script and a picture that somebody puts into the file."""
    text = page(documents.lineage()).replace("</body>", "<script>document.title = 'evil'</script></body>")
    file = tmp_path / "evil.html"
    file.write_text(text, "utf-8")
    opened, said = browser.new_page(), []
    opened.on("console", lambda message: said.append(message.text))
    opened.goto(file.as_uri())
    assert opened.title() != "evil"
    assert any("Content Security Policy" in line for line in said)
    opened.close()


def test_downloads_are_made_in_the_page(show):
    document = documents.lineage()
    opened = show(document)
    with opened.expect_download() as waiting:
        opened.get_by_role("button", name="Download JSON").click()
    assert waiting.value.suggested_filename == "explain.json"
    assert Explained.from_json(waiting.value.path().read_bytes()) == document
    with opened.expect_download() as waiting:
        opened.get_by_role("button", name="Download Attention as PNG").click()
    picture = waiting.value.path().read_bytes()
    assert waiting.value.suggested_filename == "attention.png" and picture.startswith(b"\x89PNG")
    shades = opened.evaluate(
        """async (data) => { const image = new Image(); image.src = "data:image/png;base64," + data;
          await image.decode();
          const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
          const pen = canvas.getContext("2d"); pen.drawImage(image, 0, 0);
          const found = pen.getImageData(0, 0, image.width, image.height).data, shades = new Set();
          for (let at = 0; at < found.length; at += 4) shades.add(`${found[at]},${found[at + 1]},${found[at + 2]}`);
          return [...shades]; }""",
        base64.b64encode(picture).decode(),
    )
    assert "28,34,120" in shades, "the darkest cells of the matrix are in the picture"
    assert len(shades) > 50


def test_a_notebook_cell_shows_the_page(show):
    document = documents.lineage()
    opened = show(document, f"<!doctype html><title>notebook</title><body>{frame(document)}")
    inside = opened.frame_locator("iframe")
    inside.locator(".line.source .chip").nth(1).hover()
    assert WORD in inside.locator("#view-attention .lit").all_text_contents()


def test_events_say_what_the_reader_asks_for(show):
    """What Studio listens to: the same modules, the selection that `showExplained` returns."""
    opened = show(Explained(lanes=[documents.transformer()]))
    opened.evaluate(
        """() => { window.asked = []; const place = document.getElementById("views");
          const explained = JSON.parse(document.getElementById("document").textContent);
          const selection = modules["page/explained.js"].showExplained(place, explained);
          for (const kind of ["token", "head", "branch", "alternative", "drag"]) {
            const note = ({ detail }) => asked.push([kind, { ...detail, lane: detail.lane.model }]);
            selection.addEventListener(kind, note);
          } }"""
    )
    opened.locator(".line.target .chip").nth(2).click()
    opened.locator(".options button").nth(1).click()
    opened.locator("#view-heads .head").first.click()
    opened.locator("#view-beam .node").nth(1).click()
    cells = opened.locator("#view-attention .cells")
    cells.evaluate("cells => cells.scrollIntoView({ block: 'center', behavior: 'instant' })")
    box = cells.bounding_box()
    opened.mouse.move(box["x"] + 14, box["y"] + 100)
    opened.mouse.down()
    opened.mouse.move(box["x"] + 14, box["y"] + 50)
    opened.mouse.up()
    asked = opened.evaluate("asked")
    assert [kind for kind, _ in asked] == ["token", "alternative", "head", "branch", "drag"]
    details = [detail for _, detail in asked]
    assert details[0] == {"lane": "transformer", "side": "target", "index": 2}
    assert details[1]["index"] == 2 and details[1]["choice"]["piece"] == "other2"
    assert (details[2]["map"], details[2]["head"]) == ("encoder.self.1", 0)
    assert [token["piece"] for token in details[3]["path"]] == ["rival1"]
    assert (details[4]["map"], details[4]["row"], details[4]["column"]) == ("decoder.cross.1", 2, 0)
    assert details[4]["wanted"] - details[4]["value"] == pytest.approx(0.5, abs=0.02)
