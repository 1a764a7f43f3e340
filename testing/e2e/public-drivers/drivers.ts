import type { CheckName } from '../../../apps/driver-test/src/checks/checks.ts'

/** A public CSI driver that needs no cloud. */
export interface PublicDriver {
  readonly name: string
  readonly version: string
  /** True if the executable is built from a Go module. Otherwise the executable is in the folder of `--drivers`. */
  readonly built?: true
  /** Returns a shell command that runs the executable in the foreground. */
  readonly command: (executable: string, socket: string, state: string) => string
  /** True if the driver keeps its state in memory, so that the test must not kill it. */
  readonly inMemory?: boolean
  readonly flags?: readonly string[]
  readonly csiDriver?: { readonly name: string; readonly spec: object }
  /** The checks that the driver is known to fail, as docs/driver-findings describes. */
  readonly known: readonly CheckName[]
}

const ATTRIBUTES = ['--attributes=tier=gold', '--attributes=tier=silver']

const hostPath = (version: string): PublicDriver => ({
  name: 'csi-driver-host-path',
  version,
  command: (executable, socket, state) =>
    `${executable} --endpoint=unix://${socket} --nodeid=n1 --statedir=${state} --enable-attach --enable-controller-modify-volume=true --accepted-mutable-parameter-names=tier`,
  flags: ATTRIBUTES,
  csiDriver: {
    name: 'hostpath.csi.k8s.io',
    spec: { podInfoOnMount: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
  },
  known: ['idempotence', 'strict', 'listed', 'inUse', 'capacity', 'options', 'alive', 'noLeak', 'placed', 'converges'],
})

const DEMOCRATIC = 'dirPermissionsMode: \\"0777\\", dirPermissionsUser: 0, dirPermissionsGroup: 0'

export const DRIVERS: readonly PublicDriver[] = [
  hostPath('v1.18.0'),
  hostPath('v1.17.1'),
  {
    name: 'csi-driver-nfs',
    version: 'v4.13.4',
    command: (executable, socket, state) =>
      `${executable} --endpoint=unix://${socket} --nodeid=n1 --working-mount-dir=${state}`,
    // An NFS server on this machine must export this share.
    flags: ['--parameter=server=127.0.0.1', '--parameter=share=/share'],
    csiDriver: { name: 'nfs.csi.k8s.io', spec: { attachRequired: false, fsGroupPolicy: 'File' } },
    known: ['data', 'strict'],
  },
  {
    name: 'democratic-csi',
    version: 'v1.9.4',
    command: (executable, socket, state) =>
      `sh -c 'mkdir -p ${state}; echo "{driver: local-hostpath, local-hostpath: {shareBasePath: ${state}, controllerBasePath: ${state}, ${DEMOCRATIC}}}" >${state}.yaml; exec ${executable} --log-level warn --driver-config-file ${state}.yaml --csi-version 1.9.0 --csi-name org.democratic-csi.local-hostpath --server-socket ${socket}'`,
    known: ['data', 'strict', 'alive'],
  },
  {
    name: 'csi-test',
    version: 'v4.2.0',
    built: true,
    command: (executable, socket) =>
      `env CSI_ENDPOINT=unix://${socket} ${executable} --permissive-target-path --attach-limit=100`,
    inMemory: true,
    known: ['ended', 'content', 'capacity', 'strict', 'inUse', 'placed'],
  },
  {
    name: 'gocsi',
    version: 'v1.15.0',
    built: true,
    command: (executable, socket) => `env CSI_ENDPOINT=unix://${socket} ${executable}`,
    inMemory: true,
    known: ['capacity', 'strict', 'inUse', 'placed', 'content', 'snapshots'],
  },
]
