import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { provideHelm } from '../../../charts/tests/helm.ts'
import {
  build,
  buildProgram,
  controlPlaneBinaries,
  hasGo,
  type ProgramBuild,
} from '../../e2e/harness/programs/binaries.ts'
import type { KubernetesVersion } from '../command/options.ts'
import { RefusedError } from '../command/refusal.ts'
import { FOLDERS, programsOf, ROOT } from '../machine/folders.ts'

const MODULES = join(import.meta.dirname, '../modules')

type Program = Omit<ProgramBuild, 'folder'>

/** Leaves out what only a debugger needs. */
const STRIP = '-s -w'

interface Kubernetes {
  /** The folder of the Go module in `modules`. */
  readonly module: string
  readonly version: string
  /** The parts of the control plane that the module builds. testing/e2e builds those of the default version. */
  readonly controlPlane: readonly string[]
}

const KUBERNETES: Readonly<Record<KubernetesVersion, Kubernetes>> = {
  '1.36': { module: 'kubernetes', version: 'v1.36.3', controlPlane: [] },
  '1.37': {
    module: 'kubernetes-1.37',
    version: 'v1.37.2',
    controlPlane: ['kube-apiserver', 'kube-controller-manager', 'kubectl'],
  },
}

const CONTAINERS: readonly Program[] = [
  ...['containerd', 'containerd-shim-runc-v2', 'ctr'].map((name) => ({
    package: `github.com/containerd/containerd/v2/cmd/${name}`,
    ldflags: STRIP,
  })),
  ...['main/bridge', 'main/loopback', 'ipam/host-local'].map((name) => ({
    package: `github.com/containernetworking/plugins/plugins/${name}`,
    ldflags: STRIP,
  })),
  // The chart asks for the seccomp profile of the runtime.
  { package: 'github.com/opencontainers/runc', ldflags: STRIP, cgoTags: 'seccomp' },
]

function kubernetesPrograms(version: KubernetesVersion): readonly Program[] {
  const { version: text, controlPlane } = KUBERNETES[version]
  const [major, minor] = text.slice(1).split('.')
  const variable = (name: string, value = ''): string => `-X k8s.io/component-base/version.git${name}=${value}`
  const ldflags = [STRIP, variable('Version', text), variable('Major', major), variable('Minor', minor)].join(' ')
  return [
    ...[...controlPlane, 'kube-scheduler', 'kubelet'].map((name) => ({
      package: `k8s.io/kubernetes/cmd/${name}`,
      ldflags,
    })),
    { package: 'k8s.io/kubernetes/test/images/agnhost', ldflags: STRIP },
    { package: 'github.com/onsi/ginkgo/v2/ginkgo', ldflags: STRIP },
    { package: 'k8s.io/kubernetes/test/e2e', kind: 'test', ldflags },
  ]
}

const nameOf = ({ package: path, kind }: Program): string => (kind === 'test' ? 'e2e.test' : basename(path))

/** The programs that testing/e2e builds, beside etcd and kube-apiserver. Its kubectl and controllers are for 1.36. */
const SHARED = [
  ...['csi-attacher', 'csi-provisioner', 'csi-resizer', 'csi-snapshotter', 'snapshot-controller'],
  ...['kube-controller-manager', 'kubectl'],
]

/** The manifests with the permissions of the Go sidecars, by the module that has them. */
const MANIFESTS = [
  { module: 'originals', path: 'github.com/kubernetes-csi/external-attacher/v4', files: 'deploy/kubernetes/rbac.yaml' },
  { module: 'originals', path: 'github.com/kubernetes-csi/external-resizer/v2', files: 'deploy/kubernetes/rbac.yaml' },
  {
    module: 'originals/provisioner',
    path: 'github.com/kubernetes-csi/external-provisioner/v6',
    files: 'deploy/kubernetes/rbac.yaml',
  },
  {
    module: 'originals/snapshotter',
    path: 'github.com/kubernetes-csi/external-snapshotter/v8',
    files: 'deploy/kubernetes/csi-snapshotter/rbac-csi-snapshotter.yaml',
  },
  {
    module: 'originals/snapshotter',
    path: 'github.com/kubernetes-csi/external-snapshotter/client/v8',
    files: 'config/crd/*.storage.k8s.io_*.yaml',
  },
]

/** Reports whether something must be built, for the checks before it. */
export function lacksPrograms(version: KubernetesVersion): boolean {
  return (
    [...missing(CONTAINERS, FOLDERS.programs), ...missing(kubernetesPrograms(version), programsOf(version))].length > 0
  )
}

/** Builds the missing programs. `print` gets a line before each long step. */
export function providePrograms(version: KubernetesVersion, print: (line: string) => void): void {
  if (lacksPrograms(version)) {
    if (!hasGo()) throw new RefusedError('there is no Go: install Go 1.26 (https://go.dev/dl)')
    print('building the programs of the node from Go modules: up to 25 minutes on two cores, 7 GB, once')
  }
  const assets = controlPlaneBinaries(ROOT)
  if ('remedy' in assets) throw new RefusedError(assets.remedy)
  for (const name of SHARED) build(ROOT, name)
  const helm = provideHelm()
  if (helm !== undefined) throw new RefusedError(helm)
  const { module } = KUBERNETES[version]
  buildAll({ programs: CONTAINERS, module: 'containers', folder: FOLDERS.programs }, print)
  buildAll({ programs: kubernetesPrograms(version), module, folder: programsOf(version) }, print)
  provideManifests()
}

const missing = (programs: readonly Program[], folder: string): readonly Program[] =>
  programs.filter((program) => !existsSync(join(folder, nameOf(program))))

interface Builds {
  readonly programs: readonly Program[]
  readonly module: string
  readonly folder: string
}

function buildAll({ programs, module, folder }: Builds, print: (line: string) => void): void {
  mkdirSync(folder, { recursive: true })
  for (const program of missing(programs, folder)) {
    const name = nameOf(program)
    print(`building ${name}`)
    buildProgram(join(folder, name), { ...program, folder: join(MODULES, module) })
  }
}

/** Copies the permissions and the CRDs, so that the next start needs neither Go nor the modules. */
function provideManifests(): void {
  const { manifests } = FOLDERS
  const done = join(manifests, 'complete')
  if (existsSync(done)) return
  mkdirSync(manifests, { recursive: true })
  for (const { module, path, files } of MANIFESTS) {
    const cwd = join(ROOT, 'testing', 'e2e', module)
    const { Dir } = JSON.parse(execFileSync('go', ['mod', 'download', '-json', path], { cwd, encoding: 'utf8' })) as {
      readonly Dir: string
    }
    for (const file of globSync(files, { cwd: Dir })) {
      copyFileSync(join(Dir, file), join(manifests, `${path.split('/')[2]}-${basename(file)}`))
    }
  }
  writeFileSync(done, '')
}

/** Returns the texts of the manifests whose names match. */
export function manifestTexts(pattern: string): readonly string[] {
  return globSync(pattern, { cwd: FOLDERS.manifests })
    .sort()
    .map((file) => readFileSync(join(FOLDERS.manifests, file), 'utf8'))
}
