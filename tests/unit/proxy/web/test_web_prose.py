import pytest

from services.proxy.web import prose


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("# Title\n\ntext", "<h2>Title</h2>\n<p>text</p>"),
        ("###### deep", "<h6>deep</h6>"),
        ("<b>raw</b> <script>alert(1)</script>", "<p>&lt;b&gt;raw&lt;/b&gt; &lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("<div onclick=x>\n\nblock\n\n</div>", "<p>&lt;div onclick=x&gt;</p>\n<p>block</p>\n<p>&lt;/div&gt;</p>"),
        ("[x](https://a.example/b?c=1&d)", '<p><a href="https://a.example/b?c=1&amp;d" rel="noreferrer noopener nofollow">x</a></p>'),
        ("<mailto:a@b.example>", '<p><a href="mailto:a@b.example" rel="noreferrer noopener nofollow">mailto:a@b.example</a></p>'),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("[x](JaVaScRiPt&colon;alert(1))", "<p>[x](JaVaScRiPt:alert(1))</p>"),
        ("[x](data:image/png;base64,AA==)", "<p>x</p>"),
        ("[x](/tokens)", "<p>x</p>"),
        ("[x](//evil.example/)", "<p>x</p>"),
        ("[x][1]\n\n[1]: file:///etc/passwd", "<p>[x][1]</p>\n<p>[1]: file:///etc/passwd</p>"),
        ("![a](https://a.example/p.png)", '<p><a href="https://a.example/p.png" rel="noreferrer noopener nofollow">image: a</a></p>'),
        ("![](x.png)", "<p>image: without a text</p>"),
        ("[![a](https://a.example/p.png)](https://b.example)", '<p><a href="https://b.example" rel="noreferrer noopener nofollow">image: a</a></p>'),
        ("~~gone~~", "<p><s>gone</s></p>"),
        ('```"><script>\nx < y\n```', '<pre><code class="language-&quot;&gt;&lt;script&gt;">x &lt; y\n</code></pre>'),
    ],
)
def test_markdown_becomes_harmless_html(markdown: str, html: str) -> None:
    assert str(prose.html(markdown)).strip() == html


def test_a_table_has_no_styles_of_its_own() -> None:
    made = prose.html("|a|b|\n|:-|-:|\n|1|2|")

    assert "<td>1</td>" in made
    assert "style" not in made


@pytest.mark.parametrize("text", ["[" * 5000, "> " * 5000 + "x", "*a " * 20_000, "`" * 20_001, "- " * 3000, "![" * 5000 + "](" * 5000, "|" * 5000])
def test_what_is_meant_to_choke_it_does_not(text: str) -> None:
    assert len(prose.html(text)) < 40 * prose.LONGEST


def test_a_long_note_is_cut() -> None:
    assert "tail" not in prose.html("word " * (prose.LONGEST // 5) + "tail")
