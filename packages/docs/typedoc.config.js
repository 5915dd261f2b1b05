/** The site: the front page is the README at the root, the pages are those of this folder, the reference is made of the sources. */
import { Converter, OptionDefaults, PageEvent, ReflectionKind } from "typedoc"

/** Where each entry point of a published package is, by the name under which it is imported. */
const entryPoints = {
  "effect-hedge": "../hedge/src/index.ts",
  "effect-hedge/testing": "../hedge/src/HedgeTest.ts",
  "@effect-hedge/platform": "../platform/src/index.ts",
  "@effect-hedge/platform-node": "../platform-node/src/index.ts"
}

/** TypeDoc names a module by its path. */
const nameByImport = (app) => {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.getReflectionsByKind(ReflectionKind.Module)) {
      const source = project.getSymbolIdFromReflection(module)?.fileName.replaceAll("\\", "/") ?? ""
      const found = Object.entries(entryPoints).find(([, path]) => source.endsWith(path.slice(2)))
      if (found !== undefined) module.name = found[0]
    }
  })
}

/** Opened without a server, a link to a folder shows a list of files; and the README brings its own title. */
const openWithoutServer = (app) => {
  app.renderer.on(PageEvent.END, (page) => {
    page.contents = page.contents?.replace(/ href="((?:\.\.\/)+)(?=["#])/g, ' href="$1index.html')
    if (page.url === "index.html") {
      page.contents = page.contents?.replace(/<div class="tsd-page-title">.*?<\/div>/s, "")
    }
  })
}

export default {
  name: "effect-hedge",
  entryPoints: Object.values(entryPoints),
  tsconfig: "tsconfig.api.json",
  out: "dist",
  plugin: [nameByImport, openWithoutServer],
  readme: "../../README.md",
  projectDocuments: ["tour.md", "concepts.md", "comparison.md", "guides/*.md"],
  groupOrder: ["Start", "Guides", "Modules", "*"],
  navigation: { includeGroups: true },
  alwaysCreateEntryPointModule: true,
  disableSources: true,
  disableGit: true,
  excludeInternal: true,
  highlightLanguages: [...OptionDefaults.highlightLanguages, "csharp"],
  searchInComments: true,
  searchInDocuments: true,
  validation: { notExported: false, invalidLink: true, invalidPath: true, rewrittenLink: true },
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true
}
