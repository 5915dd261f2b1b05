export * as HttpHedge from "./HttpHedge.js"
