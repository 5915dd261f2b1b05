import { HttpClientRequest } from "@effect/platform"
import { describe, expect, it } from "vitest"
import { originOf } from "../src/internal/http.js"

const origin = (url: string) => originOf(HttpClientRequest.get(url))

describe("the origin of a request", () => {
  for (const [url, expected] of [
    ["http://a.example", "http://a.example"],
    ["http://a.example/path", "http://a.example"],
    ["http://a.example?a=1", "http://a.example"],
    ["http://a.example#part", "http://a.example"],
    ["http://a.example\\path", "http://a.example"],
    ["http://a.example.org/", "http://a.example.org"],
    ["http://a.example:81/", "http://a.example:81"],
    ["http://a.example@b.example/", "http://b.example"],
    ["http://a.examplé/", "http://a.xn--exampl-gva"],
    ["https://a.example/", "https://a.example"],
    ["/path", undefined],
    ["", undefined]
  ] as const) {
    it(`of ${JSON.stringify(url)} is ${expected}, whichever came before`, () => {
      expect(origin(url)).toBe(expected)
      for (const before of ["http://a.example/", "http://b.example/", "http:///", url]) {
        origin(before)
        expect(origin(url)).toBe(expected)
      }
    })
  }
})
