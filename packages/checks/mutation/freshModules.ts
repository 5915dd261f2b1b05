import type { CancelReason, File, Task } from "@vitest/runner"
import { globalValue } from "effect/GlobalValue"
import { vi } from "vitest"
import { VitestTestRunner } from "vitest/runners"
import { excludedTests } from "./parts.js"

interface ModuleCache extends Map<string, object> {
  readonly invalidateModule: (module: object) => void
}

const references = globalValue("effect/Context/defaultValueCache", () => new Map<string, unknown>())

const leaveOut = (task: Task): void => {
  if (task.type === "suite") task.tasks.forEach(leaveOut)
  else if (excludedTests.some((part) => task.name.includes(part))) task.mode = "skip"
}

/**
 * Gives every test file modules and `Context.Reference`s of its own, and none what a killed mutant left behind, in a thread that keeps
 * Effect's modules: to load those takes longer than most files' tests.
 */
export default class FreshModules extends VitestTestRunner {
  private ended = false

  /** A test has failed, and with it the mutant: no other file is loaded. */
  override cancel(reason: CancelReason): void {
    super.cancel(reason)
    this.ended = true
  }

  override importFile(path: string, source: "collect" | "setup"): unknown {
    if (this.ended) return
    if (source === "collect") {
      // Stryker's instrumentation holds on to this object
      Object.assign(Reflect.get(globalThis, "__stryker__"), {
        activeMutant: undefined,
        mutantCoverage: undefined
      })
      vi.useRealTimers()
      vi.unstubAllGlobals()
      references.clear()
      const { moduleCache } = Reflect.get(this, "workerState") as { readonly moduleCache: ModuleCache }
      for (const [id, module] of moduleCache) {
        if (!id.includes("/node_modules/")) moduleCache.invalidateModule(module)
      }
    }
    return super.importFile(path, source)
  }

  onCollected(files: Array<File>): void {
    for (const file of files) file.tasks.forEach(leaveOut)
  }
}
