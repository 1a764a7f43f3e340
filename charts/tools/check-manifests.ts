// Checks the manifests that the chart renders from each example and each vendor's values against three versions of the
// Kubernetes API: `cd charts && npm run check-manifests`. Needs Helm, and Go to download the modules of Kubernetes.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { CHART, EXAMPLES, exampleFile, provideHelm, type RenderOptions, runHelm } from '../tests/helm.ts'
import type { Manifest } from '../tests/manifest.ts'
import { merged } from '../tests/values.ts'
import { VENDOR_VALUES } from '../tests/vendor-values.ts'
import { checkOf, type Swagger } from './kubernetes-schema.ts'

const VERSIONS = ['v1.30.14', 'v1.36.3', 'v1.37.2', 'v1.38.0-beta.0']
/** The API versions of custom resources, which are not checked because Kubernetes does not define them. */
const OF_OPERATORS = ['monitoring.coreos.com/v1', 'cert-manager.io/v1']

/** Fields of the examples that an older version of Kubernetes does not have. */
const NOT_YET: Readonly<Record<string, RegExp>> = { 'v1.30.14': /CSIDriver .*"nodeAllocatableUpdatePeriodSeconds"/ }

const lacking = provideHelm()
if (lacking !== undefined) throw new Error(lacking)

const REGISTRY = { image: { registry: 'registry.example.com/storage' } }
const SCENES: Readonly<Record<string, RenderOptions>> = {
  ...Object.fromEntries(EXAMPLES.map((example) => [example, { files: [exampleFile(example)] }])),
  ...Object.fromEntries(
    Object.entries(VENDOR_VALUES).map(([vendor, values]) => [vendor, { values: merged(REGISTRY, values) }]),
  ),
  'a DaemonSet': { files: [exampleFile('monitored')], values: { controller: { kind: 'DaemonSet' } } },
  'one process': { files: [exampleFile('secure')], values: { process: 'one', flowSchema: { enabled: true } } },
}

let [objects, errors] = [0, 0]
for (const version of VERSIONS) {
  const check = checkOf(swaggerOf(version))
  for (const [scene, options] of Object.entries(SCENES)) {
    for (const object of rendered(version, options)) {
      objects += 1
      for (const error of check(object).filter((each) => NOT_YET[version]?.test(each) !== true)) {
        errors += 1
        process.stdout.write(`${version} ${scene}: ${error}\n`)
      }
    }
  }
}
process.stdout.write(`${objects} objects for ${VERSIONS.join(', ')}: ${errors} errors\n`)
if (errors > 0) process.exitCode = 1

function swaggerOf(version: string): Swagger {
  const answer = execFileSync('go', ['mod', 'download', '-json', `k8s.io/kubernetes@${version}`], {
    // A version may need a newer Go than this machine has.
    env: { ...process.env, GOTOOLCHAIN: 'auto' },
    encoding: 'utf8',
  })
  const { Dir } = JSON.parse(answer) as { Dir: string }
  return JSON.parse(readFileSync(join(Dir, 'api/openapi-spec/swagger.json'), 'utf8')) as Swagger
}

function rendered(version: string, options: RenderOptions): readonly Manifest[] {
  const args = ['template', 'demo', CHART, '-n', 'storage', '--kube-version', version]
  const { status, stdout, stderr } = runHelm(args, options)
  if (status !== 0) throw new Error(stderr)
  const all = loadAll(stdout).filter((object) => object !== null && object !== undefined) as Manifest[]
  return all.filter(({ apiVersion }) => !OF_OPERATORS.includes(apiVersion))
}
