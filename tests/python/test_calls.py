"""acr.calls: texts of calls as models write them."""

from __future__ import annotations

import pytest
from acr.calls import BadCall, Spec, bind_text

SPECS: list[Spec] = [
    ("search_class", (("class_name", "str"),)),
    ("search_method_in_class", (("method_name", "str"), ("class_name", "str"))),
    ("get_code_around_line", (("file_name", "str"), ("line_number", "int"), ("window_size", "int"))),
]


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ('search_class("A")', "search_class", ["A"]),
        ("  search_class('A')\n", "search_class", ["A"]),
        ("search_class ( class_name = 'A' , )", "search_class", ["A"]),
        ('search_class("""a\nb""")', "search_class", ["a\nb"]),
        ("search_class('a' 'b')", "search_class", ["ab"]),
        ("search_class(r'\\d')", "search_class", ["\\d"]),
        ("search_class('\\d')", "search_class", ["\\d"]),
        ("search_class('')", "search_class", [""]),
        ("search_class('é\u3042')", "search_class", ["é\u3042"]),
        ("search_method_in_class(class_name='C', method_name='m')", "search_method_in_class", ["m", "C"]),
        ("search_method_in_class('m', class_name='C')", "search_method_in_class", ["m", "C"]),
        ("get_code_around_line('f.py', 10, 3)", "get_code_around_line", ["f.py", "10", "3"]),
        ("get_code_around_line('f.py', '10', ' 3 ')", "get_code_around_line", ["f.py", "10", "3"]),
        ("get_code_around_line('f.py', -10, 0x10)", "get_code_around_line", ["f.py", "-10", "16"]),
    ],
)
def test_calls_that_bind(text: str, name: str, values: list[str]) -> None:
    assert bind_text(SPECS, text) == (name, values)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a Python call"),
        ("search_class", "is not a call"),
        ("search_class('A'", "not a Python call"),
        ("search_class('a\nb')", "write a line break in quotes as \\n"),
        ("search_class('A') and more", "is not a call"),
        ("search_class('A') is what I need", "not a Python call"),
        ("search_class('A'); search_class('B')", "not a Python call"),
        ("search_everything('A')", "there are: search_class, search_method_in_class, get_code_around_line"),
        ("api.search_class('A')", "is not a search call"),
        ("search_class(A)", "should it be 'A', in quotes?"),
        ("search_class(f'{a}')", "is not a literal"),
        ("search_class('a' + 'b')", "is not a literal"),
        ("search_class(open('/etc/passwd').read())", "is not a literal"),
        ("search_class(*['A'])", "is not a literal"),
        ("search_class(**{'class_name': 'A'})", "** cannot be used"),
        ("search_class()", "missing a required argument: 'class_name'; usage: search_class(class_name: str)"),
        ("search_class('A', 'B')", "too many positional arguments"),
        ("search_class(name='A')", "usage: search_class(class_name: str)"),
        ("search_class('A', class_name='B')", "multiple values"),
        ("search_class(class_name='A', class_name='B')", "class_name is given twice"),
        ("search_class(3)", "must be a string in quotes, not int"),
        ("search_class(None)", "must be a string in quotes, not NoneType"),
        ("search_class(b'A')", "must be a string in quotes, not bytes"),
        ("search_class('a\\0b')", "NUL"),
        ("get_code_around_line('f.py', 'ten', 3)", "line_number must be a whole number"),
        ("get_code_around_line('f.py', True, 3)", "line_number must be a whole number"),
        ("get_code_around_line('f.py', 1.5, 3)", "line_number must be a whole number"),
        ("get_code_around_line('f.py', 99999999999, 3)", "line_number is too large"),
        ("search_class(" + "(" * 10_000 + "'A'" + ")" * 10_000 + ")", "not a Python call"),
        ("search_class('" + "x" * 70_000 + "')", "longer than"),
        ("search_class(" + "-" * 5_000 + "1)", "not a Python call"),
        ("a" + ".b" * 900 + "(1)", "an expression that is nested too deeply is not a search call"),
        ("search_class" + "('A')" * 900, "an expression that is nested too deeply is not a search call"),
        ("search_class(a" + ".b" * 900 + ")", "an expression that is nested too deeply is not a literal"),
        ("search_class('A\0')", "not a Python call"),
    ],
)
def test_calls_that_do_not(text: str, said: str) -> None:
    with pytest.raises(BadCall) as caught:
        bind_text(SPECS, text)
    shown = str(caught.value)
    assert said in shown
    assert "\n" not in shown
    assert len(shown) < 500
