import type { HttpClientError, HttpClientResponse } from "@effect/platform"
import { Channel, Chunk, Stream } from "effect"
import { createParser } from "eventsource-parser"
import type { ServerSentEvent } from "../HttpHedge.js"
import { eventTooLong } from "./http.js"

/** In UTF-16 code units: what an event may take before its end is seen. */
const longestEvent = 10 * 1024 * 1024

type Reader = Channel.Channel<
  Chunk.Chunk<ServerSentEvent>,
  Chunk.Chunk<Uint8Array>,
  HttpClientError.ResponseError,
  HttpClientError.ResponseError,
  unknown,
  unknown
>

/**
 * The events of a body, which is read as they are asked for. What stands after the last whole event is dropped, as by browsers. `onBegun` is called
 * when there is nothing unread any more that somebody would have to release: when the first bytes are there, or the end.
 */
export const eventsOf = (
  response: HttpClientResponse.HttpClientResponse,
  onBegun: () => void
): Stream.Stream<ServerSentEvent, HttpClientError.ResponseError> =>
  Stream.suspend(() => {
    const decoder = new TextDecoder()
    let parsed: Array<ServerSentEvent> = []
    let tooLong = false
    const parser = createParser({
      maxBufferSize: longestEvent,
      onEvent: ({ data, event = "message", id }) => {
        parsed.push({ event, data, id })
      },
      onError: ({ type }) => {
        tooLong ||= type === "max-buffer-size-exceeded"
      }
    })
    let afterReturn = false
    // the parser waits after a carriage return for a line feed; one that comes belongs to it
    const feed = (text: string): void => {
      if (text === "") return
      const rest = afterReturn && text.startsWith("\n") ? text.slice(1) : text
      afterReturn = rest.endsWith("\r")
      parser.feed(afterReturn ? `${rest}\n` : rest)
    }
    const parse = (chunk: Chunk.Chunk<Uint8Array>): Chunk.Chunk<ServerSentEvent> => {
      for (const bytes of chunk) {
        if (!tooLong) feed(decoder.decode(bytes, { stream: true }))
      }
      const events = Chunk.unsafeFromArray(parsed)
      parsed = []
      return events
    }
    const reader: Reader = Channel.readWithCause({
      onInput: (chunk: Chunk.Chunk<Uint8Array>) => {
        onBegun()
        const events = parse(chunk)
        // at once: a server that stalls sends neither more nor an end
        const rest = tooLong ? Channel.fail(eventTooLong(response, longestEvent)) : reader
        return Channel.zipRight(Channel.write(events), rest)
      },
      onFailure: Channel.failCause,
      onDone: () => Channel.sync(onBegun)
    })
    return Stream.pipeThroughChannel(response.stream, reader)
  })
