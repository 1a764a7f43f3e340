import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Makes the Go module k8s.io/apiextensions-api, which is new in Kubernetes 1.38. The module proxies that this
 * repository builds with do not serve it yet. Its packages are older: they were part of k8s.io/apiextensions-apiserver,
 * where 1.37.2 still has them. control-plane-1.38/go.mod replaces the new module by the folder that this file makes.
 */

const SOURCE = 'k8s.io/apiextensions-apiserver'
const SOURCE_VERSION = 'v0.37.2'
const MODULE = 'k8s.io/apiextensions-api'
const VERSIONS = ['v1', 'v1beta1']
/** The packages that moved, as glob patterns. */
const MOVED_PACKAGES = [...VERSIONS.map((version) => `pkg/apis/apiextensions/${version}/*.go`), 'pkg/client/**/*.go']
/** The files that stayed: tests, and the conversions to the internal types. */
const STAYED = /_test\.go$|\/clientset_test\/|\/(zz_generated\.)?conversion\.go$/

/** Makes the module in `folder`, unless it exists. */
export function provideMovedModule(folder: string): void {
  if (globSync('go.mod', { cwd: folder }).length > 0) return
  // The Go command of this machine may be older than the one that the beta needs, so the source is read as files.
  const answer = execFileSync('go', ['mod', 'download', '-json', `${SOURCE}@${SOURCE_VERSION}`], {
    cwd: dirname(folder),
    encoding: 'utf8',
  })
  const { Dir: source } = JSON.parse(answer) as { readonly Dir: string }
  // An interrupted run must not look like a module.
  const part = `${folder}.part`
  rmSync(part, { recursive: true, force: true })
  for (const path of MOVED_PACKAGES.flatMap((pattern) => globSync(pattern, { cwd: source }))) {
    if (STAYED.test(`/${path}`)) continue
    const file = join(part, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, withNewImports(readFileSync(join(source, path), 'utf8')))
  }
  for (const version of VERSIONS) {
    // The conversions that stayed declare this variable, which files that moved read.
    const text = `package ${version}\n\nvar nullLiteral = []byte("null")\n`
    writeFileSync(join(part, 'pkg/apis/apiextensions', version, 'null.go'), text)
  }
  cpSync(join(source, 'LICENSE'), join(part, 'LICENSE'))
  writeFileSync(join(part, 'go.mod'), GO_MOD)
  rmSync(folder, { recursive: true, force: true })
  renameSync(part, folder)
  process.stdout.write(`made ${basename(folder)} from ${SOURCE} ${SOURCE_VERSION}\n`)
}

/** Returns Go source whose imports name the new module, and the major version that 1.38 uses of another one. */
function withNewImports(source: string): string {
  return source
    .replaceAll(
      /"k8s\.io\/apiextensions-apiserver\/pkg\/(apis\/apiextensions\/v1(?:beta1)?["/]|client["/])/g,
      `"${MODULE}/pkg/$1`,
    )
    .replaceAll('"sigs.k8s.io/structured-merge-diff/v6/', '"sigs.k8s.io/structured-merge-diff/v7/')
}

const GO_MOD = `module ${MODULE}

go 1.27.0

require (
	k8s.io/api v0.38.0-beta.0
	k8s.io/apimachinery v0.38.0-beta.0
	k8s.io/client-go v0.38.0-beta.0
	sigs.k8s.io/structured-merge-diff/v7 v7.0.1
)
`
