import { resolve } from 'node:path'
import process from 'node:process'
import { refuseRepeated } from '@csi-sidecars/base'
import {
  addressOf,
  numberFlag,
  positive,
  SIDECAR_FLAGS,
  type SidecarPaths,
  sidecarsIn,
  textFlag,
} from '@csi-sidecars/devcluster'
import { seedsOf } from '@csi-sidecars/disturb'
import type { InferredOptionTypes } from 'yargs'
import { type CapabilityKind, KINDS, kindOf, listOf, pairsOf, parametersOf, quoted } from './option-values.ts'
import { PROGRAM } from './place.ts'

/** The command line of the driver test. */
export interface DriverTestOptions {
  /** The address of the controller service: `unix:///path`. */
  readonly driver: string
  /** The addresses of node services. Empty: the node service is emulated. */
  readonly nodeSockets: readonly string[]
  readonly driverCommands: readonly string[]
  /** A file with the driver's CSIDriver. */
  readonly csiDriverFile: string | undefined
  /** The value of `--data`: the folder for the mounts of the nodes. Without it the test creates a folder. */
  readonly data: string | undefined
  /** The node IDs that the driver knows. Empty: the test asks the node service by NodeGetInfo. */
  readonly nodeIds: readonly string[]
  /** The kinds of volumes to try. Undefined: all kinds that the driver accepts. */
  readonly capabilities: readonly CapabilityKind[] | undefined
  readonly parameters: Readonly<Record<string, string>>
  readonly inlineAttributes: Readonly<Record<string, string>>
  /** The parameters of each VolumeAttributesClass. */
  readonly attributes: readonly Readonly<Record<string, string>>[]
  readonly seeds: readonly number[]
  /** The duration of the actions and faults of a seed. */
  readonly seconds: number
  /** The time limit for the cluster to converge after the faults. */
  readonly convergeSeconds: number
  /** True if the test also sends requests that no cluster sends, at the end of each seed. */
  readonly strict: boolean
  /** The sidecar binaries that replace those of this repository. */
  readonly binaries: SidecarPaths
  /** A folder with other sidecars. Each seed runs again with these sidecars, and the two results are compared. */
  readonly compare: string | undefined
  /** The path of the JUnit report. */
  readonly junit: string | undefined
  readonly markdown: string | undefined
}

export const TEST_FLAGS = {
  driver: textFlag("The driver's socket, unix:///path"),
  controller: textFlag('Its socket, where it has the controller service alone'),
  node: {
    ...textFlag('The socket of a node service; again for each node. Without it nothing is mounted'),
    array: true,
  },
  data: textFlag('Where the nodes have their folders, if the driver does not see /tmp'),
  'driver-command': {
    ...textFlag(
      'Starts the driver, in the foreground; again for more processes. With it they are killed now and then, and started again',
    ),
    array: true,
  },
  csidriver: textFlag("A file with the driver's CSIDriver, YAML or JSON"),
  'node-ids': textFlag('What the driver calls its nodes, as i-1,i-2; without it NodeGetInfo is asked for one'),
  capabilities: textFlag(
    `Kinds of volumes beside the usual one, of ${KINDS.join(',')}; without it what the driver takes`,
  ),
  parameter: { type: 'string', array: true, describe: 'Of the StorageClass, as type=fast; again for more' },
  'inline-attribute': { type: 'string', array: true, describe: 'Of inline volumes, as size=1Gi; again for more' },
  attributes: {
    ...textFlag('Of a VolumeAttributesClass, as iops=3000,tier=fast; again for each class. Volumes are modified then'),
    array: true,
  },
  chaos: { ...textFlag('Seeds, as 7 or 1-10'), default: '1-3' },
  seed: textFlag('This seed alone'),
  seconds: { ...numberFlag('How long each seed disturbs'), default: 12 },
  patience: { ...numberFlag('Seconds in which everything has to converge'), default: 60 },
  strict: {
    type: 'boolean',
    default: true,
    describe: 'Ask the driver at the end what no cluster asks, about volumes of its own; --strict=false leaves it out',
  },
  sidecars: textFlag(
    'A folder with other sidecars to run, for example Go sidecars: csi-attacher, csi-provisioner. Ours run for missing ones',
  ),
  compare: textFlag('A folder with sidecars; each seed runs with them too, and what only one of both does is shown'),
  ...SIDECAR_FLAGS,
  report: textFlag('Write a JUnit report to this file'),
  markdown: textFlag('Write a Markdown report to this file'),
} as const

/** Converts the parsed flags. An invalid value throws an error of one line. */
export function testOptions(values: InferredOptionTypes<typeof TEST_FLAGS>): DriverTestOptions {
  refuseRepeated(
    values,
    Object.entries(TEST_FLAGS).flatMap(([name, flag]) => ('array' in flag ? [] : [name])),
  )
  const { driver, controller, csidriver, sidecars, report, markdown } = values
  const address = driver ?? controller
  if (address === undefined) throw new Error('--driver is required: the socket of the driver to test, unix:///path')
  if (driver !== undefined && controller !== undefined) {
    throw new Error('--driver and --controller are the same socket under two names; --node is for those of nodes')
  }
  const sockets = (values.node ?? []).flatMap((each) => listOf(each) ?? [])
  if (sockets.length > 0 && values['node-ids'] !== undefined) {
    throw new Error('--node-ids is for a test without --node: a node service says what its node is called')
  }
  return {
    driver: addressOf(driver === undefined ? 'controller' : 'driver', address),
    nodeSockets: sockets.map((each) => addressOf('node', each)),
    driverCommands: values['driver-command'] ?? [],
    csiDriverFile: csidriver,
    data: values.data,
    nodeIds: listOf(values['node-ids']) ?? [],
    capabilities: listOf(values.capabilities)?.map(kindOf),
    parameters: parametersOf('parameter', values.parameter),
    inlineAttributes: parametersOf('inline-attribute', values['inline-attribute']),
    attributes: (values.attributes ?? []).map((each) => parametersOf('attributes', listOf(each))),
    seeds: values.seed === undefined ? seedsOf('chaos', values.chaos) : seedsOf('seed', values.seed),
    seconds: positive('seconds', values.seconds),
    strict: values.strict,
    convergeSeconds: positive('patience', values.patience),
    binaries: { ...(sidecars !== undefined && sidecarsIn(sidecars)), ...givenSidecars(values) },
    compare: values.compare,
    junit: report,
    markdown,
  }
}

/** Returns the sidecars whose own flags, such as `--attacher`, are set. */
function givenSidecars(values: Readonly<Record<keyof typeof SIDECAR_FLAGS, string | undefined>>): SidecarPaths {
  const names = Object.keys(SIDECAR_FLAGS) as (keyof typeof SIDECAR_FLAGS)[]
  return Object.fromEntries(names.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])))
}

/** Returns a shell command that repeats the run, with one seed or with all seeds, but without writing reports. */
export function againLine(options: DriverTestOptions, seed?: number): string {
  const values: Readonly<Record<string, string | number | readonly string[] | undefined>> = {
    driver: options.driver,
    node: options.nodeSockets,
    'driver-command': options.driverCommands,
    data: options.data,
    csidriver: options.csiDriverFile,
    'node-ids': options.nodeIds.length > 0 ? options.nodeIds.join(',') : undefined,
    capabilities: options.capabilities?.join(','),
    parameter: pairsOf(options.parameters),
    'inline-attribute': pairsOf(options.inlineAttributes),
    attributes: options.attributes.map((each) => pairsOf(each).join(',')),
    ...options.binaries,
    compare: options.compare,
    seconds: options.seconds,
    patience: options.convergeSeconds,
    seed,
    strict: options.strict ? undefined : 'false',
  }
  const flags = Object.entries(values).flatMap(([name, value = []]) =>
    [value].flat().map((each) => quoted(`--${name}=${each}`)),
  )
  return `${ownCommand()} ${flags.join(' ')}`
}

/** Returns the command of this program. It contains the path if the program is not on the PATH, as after npx. */
function ownCommand(): string {
  const [node, script = ''] = process.argv
  const started =
    process.env['npm_lifecycle_event'] === 'driver-test' || !/main\.(?:ts|mjs)$|csi-driver-test[^/]*$/.test(script)
  return started ? PROGRAM : [node ?? 'node', resolve(script)].map(quoted).join(' ')
}
