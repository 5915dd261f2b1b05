/** The formats that are known, those first that are told apart most surely. */
import type { Format } from "../format.js"
import * as AccessLog from "./accessLog.js"
import { csv, tsv } from "./delimited.js"
import { envoy } from "./envoy.js"
import { har } from "./har.js"
import { jmeter } from "./jmeter.js"
import { json } from "./json.js"
import { k6 } from "./k6.js"
import { locust } from "./locust.js"
import { hgrm, wrk } from "./percentiles.js"
import { prometheus } from "./prometheus.js"
import { otlp, zipkin } from "./spans.js"
import { text } from "./text.js"
import { vegeta } from "./vegeta.js"

export const formats: ReadonlyArray<Format> = [
  har,
  k6,
  vegeta,
  jmeter,
  locust,
  otlp,
  zipkin,
  prometheus,
  wrk,
  hgrm,
  envoy,
  AccessLog.ltsv,
  AccessLog.nginx,
  AccessLog.apache,
  json,
  tsv,
  csv,
  text
]
