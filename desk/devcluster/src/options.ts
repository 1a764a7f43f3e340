import { refuseRepeated } from '@csi-sidecars/base'
import type { InferredOptionTypes } from 'yargs'
import type { SidecarPaths } from './cluster/binaries.ts'
import { CONTROLLERS, type ControllerName } from './cluster/start-controllers.ts'
import { addressOf, numberFlag, positive, SIDECAR_FLAGS, textFlag } from './option-values.ts'

/** The command line of the demo. */
export interface Options {
  /** True if the process exits when the demo is over. */
  readonly exit: boolean
  /** The number of nodes. */
  readonly nodes: number
  readonly driver: string | undefined
  readonly binaries: SidecarPaths
  readonly kubeconfig: string | undefined
  /** The minor version of Kubernetes whose behaviour the controllers copy. Undefined: that of the API server. */
  readonly kubernetesMinor: number | undefined
  readonly data: string | undefined
  /** The Kubernetes controllers to run. Undefined: all. */
  readonly controllers: readonly ControllerName[] | undefined
  /** The time limit of each step of the demo. */
  readonly timeoutMs: number
  /** The pause before each step of the demo. Undefined: a second in a terminal, none elsewhere. */
  readonly pauseMs: number | undefined
  readonly pagePort: number
}

/** The versions of Kubernetes whose controllers behave differently. A newer version behaves like the last one. */
const KUBERNETES_VERSIONS = ['1.36', '1.37', '1.38'] as const

export const STORY_FLAGS = {
  exit: { type: 'boolean', default: false, describe: 'End after the story: 0 if all of it came true, else 1' },
  nodes: numberFlag('Nodes; 2, or 1 with --driver'),
  driver: textFlag('Your own CSI driver, unix:///path'),
  ...SIDECAR_FLAGS,
  kubeconfig: textFlag('A real API server instead of the emulated one'),
  kubernetes: textFlag(`Behave as the controllers of Kubernetes ${KUBERNETES_VERSIONS.join(', ')}`),
  controllers: textFlag(`Parts to run beside a real controller manager, of ${CONTROLLERS.join(',')}`),
  data: textFlag('Where volumes are really mounted'),
  patience: numberFlag('Seconds that a step may take; 30, or 300 with --driver'),
  pause: numberFlag('Seconds to wait before each step; 1 in a terminal'),
  'page-port': { ...numberFlag('Port of the page; 0: any'), default: 0 },
} as const

/** Converts the parsed flags. An invalid value throws an error of one line. */
export function storyOptions(values: InferredOptionTypes<typeof STORY_FLAGS>): Options {
  refuseRepeated(values, Object.keys(STORY_FLAGS))
  const { exit, attacher, resizer, provisioner, snapshotter, kubeconfig, data } = values
  const driver = values.driver && addressOf('driver', values.driver)
  if (driver !== undefined) refuseWithDriver(values)
  return {
    exit,
    nodes: positive('nodes', values.nodes ?? (driver === undefined ? 2 : 1)),
    driver,
    binaries: { attacher, resizer, provisioner, snapshotter },
    kubeconfig,
    kubernetesMinor: values.kubernetes === undefined ? undefined : kubernetesMinor(values.kubernetes),
    data,
    controllers: values.controllers === undefined ? undefined : parseControllers(values.controllers),
    timeoutMs: 1000 * positive('patience', values.patience ?? (driver === undefined ? 30 : 300)),
    pauseMs: values.pause === undefined ? undefined : 1000 * seconds('pause', values.pause),
    pagePort: port('page-port', values['page-port']),
  }
}

function parseControllers(text: string): readonly ControllerName[] {
  return text.split(',').map((name) => {
    const controller = CONTROLLERS.find((each) => each === name)
    if (controller === undefined) throw new Error(`--controllers ${name}: known are ${CONTROLLERS.join(', ')}`)
    return controller
  })
}

function kubernetesMinor(text: string): number {
  const version = KUBERNETES_VERSIONS.find((each) => each === text)
  if (version === undefined) throw new Error(`--kubernetes ${text}: known are ${KUBERNETES_VERSIONS.join(', ')}`)
  return Number(version.split('.')[1])
}

/** Refuses `--nodes` above 1 with `--driver`, because the driver's socket serves one node. */
function refuseWithDriver({ nodes }: Pick<InferredOptionTypes<typeof STORY_FLAGS>, 'nodes'>): void {
  if (nodes !== undefined && nodes > 1) {
    throw new Error(`--nodes ${nodes}: the socket of --driver is that of one node, which cannot mount for another`)
  }
}

function seconds(name: string, value: number): number {
  if (!(value >= 0)) throw new Error(`--${name} must be a number of seconds`)
  return value
}

function port(name: string, value: number): number {
  if (!Number.isInteger(value) || value < 0 || value > 65_535) throw new Error(`--${name} must be a port, 0 to 65535`)
  return value
}
