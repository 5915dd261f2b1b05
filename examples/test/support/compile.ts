/** Compiles snippets as a user's TypeScript would be, under the workspace's options. */
import ts from "typescript"
import type { Snippet } from "./snippets.js"

const root = new URL("../../../", import.meta.url).pathname

/** Packages by name are their sources, as for the tests, so that nothing has to be built before. */
const paths = {
  "effect-hedge": ["./packages/hedge/src/index.ts"],
  "effect-hedge/testing": ["./packages/hedge/src/HedgeTest.ts"],
  "@effect-hedge/platform": ["./packages/platform/src/index.ts"],
  "@effect-hedge/platform-node": ["./packages/platform-node/src/index.ts"]
}

const options = (): ts.CompilerOptions => {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  const own = { composite: false, declaration: false, declarationMap: false, noUnusedLocals: false }
  const compilerOptions = { ...config.compilerOptions, ...own, noEmit: true, types: ["node"], paths }
  return ts.parseJsonConfigFileContent({ compilerOptions, files: [] }, ts.sys, root).options
}

/** A host to which the given files exist beside those on disk. */
const hostOf = (files: ReadonlyMap<string, string>, compilerOptions: ts.CompilerOptions): ts.CompilerHost => {
  const host = ts.createCompilerHost(compilerOptions)
  return {
    ...host,
    fileExists: (path) => files.has(path) || host.fileExists(path),
    readFile: (path) => files.get(path) ?? host.readFile(path),
    getSourceFile: (path, languageVersion, ...rest) => {
      const text = files.get(path)
      return text === undefined
        ? host.getSourceFile(path, languageVersion, ...rest)
        : ts.createSourceFile(path, text, languageVersion, true)
    }
  }
}

const describe = (name: string, diagnostic: ts.Diagnostic): string => {
  const { file, start } = diagnostic
  const line = file === undefined || start === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line
  return `${name}, line ${line + 1}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, " ")}`
}

/** The errors of each snippet as TypeScript and, of those that must be JavaScript as well, as that. */
export const errorsIn = (
  snippets: ReadonlyArray<Snippet>,
  isJavaScript: (snippet: Snippet) => boolean
): ReadonlyArray<string> => {
  const named = new Map(
    snippets.flatMap((snippet, i) => {
      const path = `${root}examples/snippet${i}`
      const languages = isJavaScript(snippet) ? [".ts", ".js"] : [".ts"]
      return languages.map((language) => [path + language, snippet] as const)
    })
  )
  const compilerOptions = { ...options(), allowJs: true, checkJs: false }
  const files = new Map([...named].map(([path, { code }]) => [path, code]))
  const program = ts.createProgram([...files.keys()], compilerOptions, hostOf(files, compilerOptions))
  return [...named].flatMap(([path, { name }]) => {
    const file = program.getSourceFile(path)
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
      (diagnostic) => describe(name, diagnostic)
    )
  })
}
