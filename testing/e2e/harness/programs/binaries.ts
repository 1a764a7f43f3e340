import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { CannotRun } from '../cannot-run.ts'
import { temporaryFolder } from '../process/processes.ts'
import { type Binaries, bySubject, type Executables, SUBJECTS, type TestedApp } from '../subject.ts'
import { provideMovedModule } from './moved-module.ts'

/** Builds the real control plane and the Go sidecars from modules in testing/e2e, into a folder that Git ignores. */

interface Build {
  /** The folder of the Go module, under testing/e2e. */
  readonly module: string
  readonly package: string
  readonly ldflags: string
}

interface Kubernetes {
  /** The folder of the Go module, under testing/e2e. */
  readonly module: string
  readonly version: string
  /** The value of `--emulated-version` for kube-apiserver. */
  readonly emulated?: string
  /** True if the Go module needs a module that is made from an older one. */
  readonly needsMovedModule?: boolean
}

/** The real control planes for the tests, by the value of `E2E_KUBERNETES`. Default: the first. */
const KUBERNETES: Readonly<Record<string, Kubernetes>> = {
  '1.36': { module: 'control-plane', version: 'v1.36.3' },
  '1.37': { module: 'control-plane-1.37', version: 'v1.37.2' },
  '1.38': { module: 'control-plane-1.38', version: 'v1.38.0-beta.0', needsMovedModule: true },
  // The oldest version that kube-apiserver 1.36 can emulate.
  '1.33': { module: 'control-plane', version: 'v1.36.3', emulated: '1.33' },
}
const DEFAULT_KUBERNETES = '1.36'

/** Returns the chosen control plane, or undefined if `E2E_KUBERNETES` has an unknown value. */
function kubernetes(): ({ readonly name: string } & Kubernetes) | undefined {
  const name = process.env['E2E_KUBERNETES'] || DEFAULT_KUBERNETES
  const found = Object.hasOwn(KUBERNETES, name) ? KUBERNETES[name] : undefined
  return found && { name, ...found }
}

/** Returns how the conformance cases are checked: against the emulator, or against the recorded answers of a version. */
export function conformanceVersion():
  | { readonly kind: 'emulated' | 'none' }
  | { readonly kind: 'recorded'; readonly version: string } {
  const { name = DEFAULT_KUBERNETES, emulated } = kubernetes() ?? {}
  if (name === DEFAULT_KUBERNETES) return { kind: 'emulated' }
  // An emulated version answers with the texts of the newer server.
  return emulated === undefined ? { kind: 'recorded', version: name } : { kind: 'none' }
}

/** Returns the minor version that the chosen kube-apiserver reports, and the flags for it. */
export function apiServer(): { readonly minor: number; readonly apiServerArgs: readonly string[] } {
  const { name = DEFAULT_KUBERNETES, emulated } = kubernetes() ?? {}
  return {
    minor: Number(name.split('.')[1]),
    apiServerArgs: emulated === undefined ? [] : [`--emulated-version=${emulated}`],
  }
}

function controlPlane(): Readonly<Record<string, Build>> {
  const { module = '', version = '' } = kubernetes() ?? {}
  const ldflags = `-s -w -X k8s.io/component-base/version.gitVersion=${version}`
  const part = (name: string): Build => ({ module, package: `k8s.io/kubernetes/cmd/${name}`, ldflags })
  return {
    etcd: { module, package: 'go.etcd.io/etcd/server/v3', ldflags: '-s -w' },
    'kube-apiserver': part('kube-apiserver'),
    'kube-controller-manager': part('kube-controller-manager'),
    kubectl: part('kubectl'),
  }
}

const SNAPSHOTTER = { module: 'originals/snapshotter', ldflags: '-X main.version=v8.7.0' }
const EXTERNAL_SNAPSHOTTER = 'github.com/kubernetes-csi/external-snapshotter/v8/cmd'

/** The programs that do not depend on the version of Kubernetes. */
const OTHERS: Readonly<Record<string, Build>> = {
  ...Object.fromEntries(
    SUBJECTS.map(({ app, value }) => {
      const ldflags = `-X main.version=${value.replaces.split(' ')[1]}`
      return [value.name, { module: 'originals', package: FACTS[app].original, ldflags }]
    }),
  ),
  // These Go sidecars have separate modules, because their libraries conflict with those of attacher and resizer.
  'csi-provisioner': {
    module: 'originals/provisioner',
    package: 'github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner',
    ldflags: '-X main.version=v6.4.0',
  },
  'csi-snapshotter': { ...SNAPSHOTTER, package: `${EXTERNAL_SNAPSHOTTER}/csi-snapshotter` },
  'snapshot-controller': { ...SNAPSHOTTER, package: `${EXTERNAL_SNAPSHOTTER}/snapshot-controller` },
  // The module requires livenessprobe by commit, because its tags are not valid Go versions.
  livenessprobe: {
    module: 'livenessprobe',
    package: 'github.com/kubernetes-csi/livenessprobe/cmd/livenessprobe',
    ldflags: '',
  },
  'csi-sanity': { module: 'sanity', package: 'github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity', ldflags: '' },
  'otel-collector': { module: 'collector', package: '.', ldflags: '-s -w' },
  // Public CSI drivers that are Go modules. Each has a module folder, because their libraries conflict.
  'mock-csi-test': {
    module: 'public-drivers/csi-test',
    package: 'github.com/kubernetes-csi/csi-test/v4/cmd/mock-driver',
    ldflags: '-s -w',
  },
  'mock-gocsi': { module: 'public-drivers/gocsi', package: 'github.com/dell/gocsi/mock', ldflags: '-s -w' },
}

const REMEDY =
  'a real API server needs kube-apiserver and etcd: run setup-envtest and set KUBEBUILDER_ASSETS, or install Go 1.26 (https://go.dev/dl)'

/** Returns the folder of the programs that are the same for all versions of Kubernetes, such as the Go sidecars. */
export function cacheFolder(root: string): string {
  return join(root, '.cache', 'control-plane', 'bin')
}

/** Returns the folder of the chosen control plane. */
export function controlPlaneFolder(root: string): string {
  const { name = DEFAULT_KUBERNETES, module } = kubernetes() ?? {}
  const isDefault = module === undefined || module === KUBERNETES[DEFAULT_KUBERNETES]?.module
  return isDefault ? cacheFolder(root) : join(root, '.cache', 'control-plane', name)
}

export function originals(root: string): Readonly<Record<TestedApp, string>> {
  return bySubject((app) => join(cacheFolder(root), `csi-${app}`))
}

/** Returns the paths of the executables under test. Environment variables can name other executables. */
export function executablesOf(root: string, binaries: Binaries): Executables {
  const chosen = (app: string, usual: string): string => process.env[`E2E_${app.toUpperCase()}`] ?? usual
  const dist = (app: string): string => join(root, 'apps', app, 'dist', `csi-${app}`)
  const both = chosen('sidecars', dist('sidecars'))
  if (binaries === 'one') return { ...bySubject(() => both), both }
  const go = originals(root)
  return { ...bySubject((app) => chosen(app, binaries === 'originals' ? go[app] : dist(app))), both }
}

/** Returns the path of a program of the chosen control plane. Throws `CannotRun` if only Go could build it. */
export function controlPlaneProgram(root: string, name: string): string {
  const { KUBEBUILDER_ASSETS = '' } = process.env
  const assetPath = join(KUBEBUILDER_ASSETS, name)
  return KUBEBUILDER_ASSETS !== '' && existsSync(assetPath) ? assetPath : existing(join(controlPlaneFolder(root), name))
}

/** Returns the path of a program such as a Go sidecar. Throws `CannotRun` if only Go could build it. */
export function goProgram(root: string, name: string): string {
  return existing(join(cacheFolder(root), name))
}

function existing(path: string): string {
  if (existsSync(path)) return path
  if (hasGo()) throw new Error(`${path} is missing: npm run e2e builds it`)
  throw new CannotRun(`${path} is missing, and only Go builds it`)
}

/** Reports whether this machine has a real API server, or can build one. */
export function hasControlPlane(root: string): boolean {
  if (process.env['KUBEBUILDER_ASSETS'] || hasGo()) return true
  return ['etcd', 'kube-apiserver'].every((name) => existsSync(join(controlPlaneFolder(root), name)))
}

/** Returns the folder with etcd and kube-apiserver, built if necessary, or a line that says how to get them. */
export function controlPlaneBinaries(root: string): { folder: string } | { remedy: string } {
  const { KUBEBUILDER_ASSETS } = process.env
  if (KUBEBUILDER_ASSETS !== undefined && KUBEBUILDER_ASSETS !== '') {
    const missing = ['etcd', 'kube-apiserver'].find((name) => !existsSync(join(KUBEBUILDER_ASSETS, name)))
    if (missing === undefined) return { folder: KUBEBUILDER_ASSETS }
    return {
      remedy: `KUBEBUILDER_ASSETS=${KUBEBUILDER_ASSETS} has no ${missing}: run setup-envtest again, or unset it`,
    }
  }
  if (kubernetes() === undefined) {
    const versions = Object.keys(KUBERNETES).join(', ')
    return { remedy: `E2E_KUBERNETES=${process.env['E2E_KUBERNETES']}: only ${versions} are known` }
  }
  const folder = controlPlaneFolder(root)
  const missing = ['etcd', 'kube-apiserver'].filter((name) => !existsSync(join(folder, name)))
  if (missing.length > 0 && !hasGo()) return { remedy: REMEDY }
  for (const name of missing) build(root, name)
  return { folder }
}

export function hasGo(): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'go')))
}

/** Builds a program if it does not exist yet, and returns its path. */
export function build(root: string, name: string): string {
  const ofKubernetes = controlPlane()[name]
  const rule = ofKubernetes ?? OTHERS[name]
  if (rule === undefined) throw new Error(`no rule builds ${name}`)
  const folder = ofKubernetes === undefined ? cacheFolder(root) : controlPlaneFolder(root)
  const file = join(folder, name)
  if (existsSync(file)) return file
  mkdirSync(folder, { recursive: true })
  if (ofKubernetes !== undefined && kubernetes()?.needsMovedModule) {
    provideMovedModule(join(root, '.cache', 'control-plane', 'apiextensions-api'))
  }
  process.stdout.write(`building ${name}\n`)
  buildProgram(file, { ...rule, folder: join(root, 'testing', 'e2e', rule.module) })
  return file
}

/** The package and the flags of one `go build`, or of one `go test -c` if `kind` is `test`. */
export interface ProgramBuild {
  /** The folder of the Go module. */
  readonly folder: string
  /** The path of the package, or of the test that becomes a program. */
  readonly package: string
  readonly kind?: 'test'
  readonly ldflags: string
  /** The build tags of a program that needs the C library of this machine. */
  readonly cgoTags?: string
}

/** Builds a Go program into a file. An interrupted build leaves no file that looks like a program. */
export function buildProgram(file: string, { folder, package: path, kind, ldflags, cgoTags }: ProgramBuild): void {
  const verb = kind === 'test' ? ['test', '-c', '-vet=off'] : ['build']
  const tags = cgoTags === undefined ? [] : ['-tags', cgoTags]
  const part = `${file}.part`
  execFileSync('go', [...verb, '-trimpath', ...tags, '-ldflags', ldflags, '-o', part, path], {
    cwd: folder,
    // A module that needs a newer Go than this machine has gets it: its go.mod names the version.
    env: { ...process.env, CGO_ENABLED: cgoTags === undefined ? '0' : '1', GOTOOLCHAIN: 'auto' },
    stdio: 'inherit',
  })
  renameSync(part, file)
}

/** Returns copies of the built executables, so that a concurrent build does not disturb the run. */
export function copied(root: string, binaries: Binaries = 'ours'): Executables {
  const folder = temporaryFolder('executables')
  const built = executablesOf(root, binaries)
  const copy = (from: string): string => {
    if (!existsSync(from)) throw new Error(`${from} is missing: npm run build`)
    const to = join(folder, basename(from))
    copyFileSync(from, to)
    return to
  }
  return { ...bySubject((app) => copy(built[app])), both: copy(built.both) }
}
