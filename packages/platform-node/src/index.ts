export * as NodeHedgeClient from "./NodeHedgeClient.js"
