import type { CheckName } from '../../apps/devcluster/src/driver-test/checks/checks.ts'

/** A driver of another author that needs no cloud. */
export interface PublicDriver {
  readonly name: string
  readonly repository: string
  /** A tag of the repository. */
  readonly version: string
  /** In the folder of its source. */
  readonly build: string
  /** Starts it in the foreground, in that folder; for a shell. */
  readonly command: (socket: string, state: string) => string
  /** It keeps its state in memory: it is not killed. */
  readonly inMemory?: boolean
  readonly flags?: readonly string[]
  /** What the findings of docs/driver-findings are about. */
  readonly known: readonly CheckName[]
}

const ATTRIBUTES = ['--attributes=tier=gold', '--attributes=tier=silver']

const hostPath = (version: string): PublicDriver => ({
  name: 'csi-driver-host-path',
  repository: 'https://github.com/kubernetes-csi/csi-driver-host-path',
  version,
  build: `CGO_ENABLED=0 go build -mod=vendor -ldflags '-X main.version=${version}' -o driver ./cmd/hostpathplugin`,
  command: (socket, state) =>
    `./driver --endpoint=unix://${socket} --nodeid=n1 --statedir=${state} --enable-attach --enable-controller-modify-volume=true --accepted-mutable-parameter-names=tier`,
  flags: ATTRIBUTES,
  known: ['idempotence', 'strict', 'listed', 'inUse', 'capacity', 'options', 'alive', 'noLeak', 'placed', 'converges'],
})

export const DRIVERS: readonly PublicDriver[] = [
  hostPath('v1.18.0'),
  hostPath('v1.17.1'),
  {
    name: 'democratic-csi',
    repository: 'https://github.com/democratic-csi/democratic-csi',
    version: 'v1.9.4',
    build: 'npm ci --ignore-scripts --omit=dev --no-audit --no-fund',
    command: (socket, state) =>
      `sh -c 'mkdir -p ${state}; echo "{driver: local-hostpath, local-hostpath: {shareBasePath: ${state}, controllerBasePath: ${state}, dirPermissionsMode: \\"0777\\", dirPermissionsUser: 0, dirPermissionsGroup: 0}}" >${state}.yaml; exec node bin/democratic-csi --log-level warn --driver-config-file ${state}.yaml --csi-version 1.9.0 --csi-name org.democratic-csi.local-hostpath --server-socket ${socket}'`,
    known: ['strict', 'alive'],
  },
  {
    name: 'csi-test',
    repository: 'https://github.com/kubernetes-csi/csi-test',
    version: 'v4.2.0',
    build: 'CGO_ENABLED=0 go build -mod=vendor -o mock-driver ./cmd/mock-driver',
    command: (socket) => `env CSI_ENDPOINT=unix://${socket} ./mock-driver --permissive-target-path --attach-limit=100`,
    inMemory: true,
    known: ['ended', 'content', 'capacity', 'strict', 'inUse', 'placed'],
  },
]
