"""Broken price books."""

from __future__ import annotations

from tests.bad_input.row import Row, book
from tests.world.files import BOOK, CATALOG, changed

GPU_PRICE = '  gpu_box:\n    list: 300000 USD\n    date: "2026-01"'
DISCOUNT = "  - {vendor: Boxes, discount: 5 %}"

ROWS: tuple[Row, ...] = (
    book(
        "wrong_book_currency",
        "currency: USD",
        "currency: EUR",
        wrong="money is to be shown in EUR, and no rate of EUR is known",
        right="add exchange: {EUR: {usd: 1.08",
    ),
    book(
        "price_in_euro",
        "list: 300000 USD",
        "list: 300000 EUR",
        wrong="'300000 EUR' is in EUR, and no rate of EUR is known",
        right="add exchange: {EUR: {usd: 1.08",
    ),
    book(
        "rate_of_nothing",
        "currency: USD",
        "exchange: {EUR: {usd: 0, on: 2026-11-20, source: ECB}}",
        wrong="0 is out of range: expected more than 0",
        right="",
    ),
    book(
        "negative_rate",
        "currency: USD",
        "exchange: {EUR: {usd: -1.08, on: 2026-11-20, source: ECB}}",
        wrong="-1.08 is out of range: expected more than 0",
        right="",
    ),
    book(
        "rate_without_a_day",
        "currency: USD",
        "exchange: {EUR: {usd: 1.08, source: ECB}}",
        wrong="'on' is missing",
        right="",
    ),
    *(
        book(
            f"rate_of_no_day_{day}",
            "currency: USD",
            f'exchange: {{EUR: {{usd: 1.08, on: "{day}", source: ECB}}}}',
            wrong=f"'{day}' is no date of the calendar",
            right="2026-11-20",
        )
        for day in ("2026-13-01", "2026-02-29", "0000-01-01")
    ),
    book(
        "rate_of_no_currency",
        "currency: USD",
        "exchange: {EURO: {usd: 1.08, on: 2026-11-20, source: ECB}}",
        wrong="'EURO' is no currency",
        right="its code in ISO 4217, such as EUR",
    ),
    book(
        "rate_of_the_dollar",
        "currency: USD",
        "exchange: {USD: {usd: 1.08, on: 2026-11-20, source: ECB}}",
        wrong="rates of exchange say what other currencies are in USD",
        right="leave USD out",
    ),
    book(
        "currency_of_another_price",
        "list: 300000 USD",
        "list: 300000 USD\n    currency: EUR",
        wrong="currency follows from list",
        right="leave it out",
        at="gpu_box:",
    ),
    book(
        "price_without_unit",
        "list: 300000 USD",
        "list: 300000",
        wrong="300000 has no unit",
        right="'450 MUSD'",
    ),
    book(
        "negative_price",
        "list: 300000 USD",
        "list: -300000 USD",
        wrong="-300000 USD is out of range",
        right="at least 0 USD",
    ),
    book(
        "date_not_quoted",
        GPU_PRICE,
        GPU_PRICE.replace('"2026-01"', "2026"),
        wrong="expected text, found '2026'",
        right="put it in quotes: '2026'",
        at="    date: 2026",
    ),
    book(
        "date_of_another_form",
        GPU_PRICE,
        GPU_PRICE.replace('"2026-01"', "Jan 2026"),
        wrong="'Jan 2026' is not well formed",
        right='write a date as "2026-01-31"',
        at="    date: Jan 2026",
    ),
    book(
        "lead_time_of_another_form",
        "    support_per_year: 8 %",
        "    lead_time: soon",
        wrong="'soon' is not well formed",
        right="'12 weeks'",
    ),
    book(
        "price_without_date",
        '    list: 200000 USD\n    date: "2026-01"\n',
        "    list: 200000 USD\n",
        wrong="'date' is missing",
        right='add date: "2026-01-31"',
        at="  quick_store:",
    ),
    book(
        "unknown_price_source",
        GPU_PRICE + "\n    source: quote",
        GPU_PRICE + "\n    source: quot",
        wrong="the source 'quot' is not listed under sources",
        right="did you mean 'quote'",
        at="  gpu_box:",
    ),
    book(
        "price_twice",
        "discounts:\n",
        "prices: {}\ndiscounts:\n",
        wrong=r"key 'prices' stands twice \(first in line 5\)",
        right="keep one of them",
    ),
    book(
        "discount_with_two_selectors",
        DISCOUNT,
        DISCOUNT.replace("vendor: Boxes", "vendor: Boxes, item: gpu_box"),
        wrong="exactly one of",
        right="item, vendor or category",
    ),
    book(
        "discount_of_nothing",
        DISCOUNT,
        "  - {discount: 5 %}",
        wrong="exactly one of",
        right="item, vendor or category",
    ),
    book(
        "discount_over_100",
        DISCOUNT,
        "  - {vendor: Boxes, discount: 105 %}",
        wrong="105 % is out of range",
        right="at most 1",
    ),
    book(
        "negative_discount",
        DISCOUNT,
        "  - {vendor: Boxes, discount: -5 %}",
        wrong="-5 % is out of range",
        right="at least 0",
    ),
    book(
        "negative_support",
        "support_per_year: 8 %",
        "support_per_year: -8 %",
        wrong="-8 % is out of range",
        right="at least 0",
    ),
    book(
        "support_in_no_unit",
        "support_per_year: 8 %",
        "support_per_year: 0.08",
        wrong="0.08 has no unit",
        right="'310000 USD'",
    ),
    Row(
        "book_is_a_catalog",
        wrong="expected a price book, found a catalog",
        right="a price book begins with 'price_book: '",
        at=("book.yaml", "catalog: Own hardware"),
        files={"book.yaml": CATALOG},
    ),
    Row(
        "circle_of_books",
        wrong="circular include: book.yaml -> book.yaml",
        right="remove one of these includes",
        at=("book.yaml", "include: [book.yaml]"),
        files={"book.yaml": changed(BOOK, "currency: USD", "include: [book.yaml]")},
    ),
)
