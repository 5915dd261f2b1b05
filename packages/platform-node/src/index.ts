export * as LaneEvent from "./LaneEvent.js"
export * as NodeHedgeClient from "./NodeHedgeClient.js"
