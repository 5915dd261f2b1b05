export * as LaneEvent from "./LaneEvent.js"
export * as LaneMetrics from "./LaneMetrics.js"
export * as NodeHedgeClient from "./NodeHedgeClient.js"
