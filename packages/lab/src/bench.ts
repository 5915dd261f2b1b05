import { calls } from "./bench/calls.js"
import { http } from "./bench/http.js"
import { memory } from "./bench/memory.js"
import { toJson, toTable } from "./bench/row.js"

const unknown = process.argv.slice(2).filter((argument) => argument !== "--json")
if (unknown.length > 0) {
  console.error(`bench: ${unknown.join(" ")} is no option; allowed is --json`)
  process.exit(2)
}

const rows = [...(await calls()), ...(await memory()), ...(await http())]
console.log(process.argv.includes("--json") ? toJson(rows) : toTable(rows))
