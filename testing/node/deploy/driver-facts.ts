import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { GO_REPOSITORY, OUR_REPOSITORY } from '../build/image-names.ts'
import { NODE_NAME } from '../cluster/configuration.ts'
import type { DriverChoice } from '../command/options.ts'
import { FOLDERS } from '../machine/folders.ts'

/** The facts about a driver that the tests and the manifests need. */
export interface DriverFacts {
  readonly name: string
  /** The containers of its pod on the node: the driver, and its registrar if it needs one. */
  readonly containers: readonly object[]
  readonly topologyKey: string
  readonly hasGroupSnapshots: boolean
  /** Counts the volumes of the driver's back end. */
  readonly countVolumes: () => number
}

const KUBELET = '/var/lib/kubelet'
const DATA = join(FOLDERS.state, 'data')

/** The folder of the driver's socket on the node. */
export const socketFolder = (driver: string): string => `${KUBELET}/plugins/${driver}`

/** The volume with the socket. The chart has the same name as its default. */
export const SOCKET_VOLUME = 'socket-dir'

/** The volumes of the driver's pod, without the volume of the socket. */
export const DRIVER_VOLUMES: readonly object[] = [
  { name: 'kubelet', hostPath: { path: KUBELET } },
  { name: 'data', hostPath: { path: DATA } },
  { name: 'dev', hostPath: { path: '/dev' } },
]

/** Folders have the same path in the container and on the node, so the kubelet understands the paths of the driver. */
const MOUNTS = [
  { name: 'kubelet', mountPath: KUBELET, mountPropagation: 'Bidirectional' },
  { name: 'data', mountPath: DATA },
  { name: 'dev', mountPath: '/dev' },
]

const HOSTPATH = 'hostpath.csi.k8s.io'
const OURS = 'directory.csi.example'

export function driverFacts(kind: DriverChoice['kind']): DriverFacts {
  return kind === 'hostpath' ? hostpath() : ours()
}

/** Returns the container of a driver without a node service, which needs no privilege. Its data ends with its pod. */
export function controllerOnly(kind: DriverChoice['kind'], name: string): object {
  const flags = ['--endpoint=unix:///csi/csi.sock']
  const container = { name: 'driver', securityContext: RESTRICTED }
  const volumeMounts = [
    { name: SOCKET_VOLUME, mountPath: '/csi' },
    { name: 'data', mountPath: '/data' },
  ]
  if (kind === 'ours') {
    const args = [...flags, `--node-id=${NODE_NAME}`, '--state-dir=/data', `--driver-name=${name}`]
    return { ...container, image: `${OUR_REPOSITORY}/driver:node`, args, volumeMounts }
  }
  const args = [...flags, `--nodeid=${NODE_NAME}`, '--statedir=/data', `--drivername=${name}`]
  return { ...container, image: `${GO_REPOSITORY}/hostpathplugin:node`, args, volumeMounts }
}

const RESTRICTED = {
  readOnlyRootFilesystem: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
}

function ours(): DriverFacts {
  const socket = { name: SOCKET_VOLUME, mountPath: socketFolder(OURS) }
  const driver = {
    name: 'driver',
    image: `${OUR_REPOSITORY}/driver:node`,
    args: [
      `--endpoint=unix://${socketFolder(OURS)}/csi.sock`,
      `--node-id=${NODE_NAME}`,
      `--state-dir=${DATA}`,
      `--driver-name=${OURS}`,
      `--registration-dir=${KUBELET}/plugins_registry`,
    ],
    securityContext: { privileged: true },
    volumeMounts: [...MOUNTS, socket],
  }
  return {
    name: OURS,
    containers: [driver],
    topologyKey: 'topology.directory.csi.example/node',
    hasGroupSnapshots: false,
    countVolumes: () => entriesOf(join(DATA, 'volumes')).length,
  }
}

const entriesOf = (folder: string): readonly string[] => (existsSync(folder) ? readdirSync(folder) : [])

function hostpath(): DriverFacts {
  const countVolumes = (): number => entriesOf(DATA).filter((name) => !/^state\.json|\.snap$/.test(name)).length
  const driver = {
    name: 'driver',
    image: `${GO_REPOSITORY}/hostpathplugin:node`,
    args: [
      `--drivername=${HOSTPATH}`,
      '--v=5',
      '--endpoint=unix:///csi/csi.sock',
      `--nodeid=${NODE_NAME}`,
      `--statedir=${DATA}`,
      // Its authors leave this off, and the attacher has no work then.
      '--enable-attach',
      '--check-volume-lifecycle',
      '--enable-controller-modify-volume',
      '--accepted-mutable-parameter-names=e2eVacTest',
    ],
    securityContext: { privileged: true },
    volumeMounts: [...MOUNTS, { name: SOCKET_VOLUME, mountPath: '/csi' }],
  }
  const registrar = {
    name: 'registrar',
    image: `${GO_REPOSITORY}/csi-node-driver-registrar:node`,
    args: ['--csi-address=/csi/csi.sock', `--kubelet-registration-path=${socketFolder(HOSTPATH)}/csi.sock`],
    volumeMounts: [
      { name: SOCKET_VOLUME, mountPath: '/csi' },
      { name: 'kubelet', mountPath: '/registration', subPath: 'plugins_registry' },
    ],
  }
  const topologyKey = 'topology.hostpath.csi/node'
  return { name: HOSTPATH, containers: [driver, registrar], topologyKey, hasGroupSnapshots: true, countVolumes }
}
