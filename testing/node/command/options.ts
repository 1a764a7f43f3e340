import { answeredOrValues, messageOf, refuseRepeated, throwRefusal } from '@csi-sidecars/base'
import yargs from 'yargs'
import { RefusedError } from './refusal.ts'

/** The minor versions of Kubernetes that a node can have. The first is the default. */
export const VERSIONS = ['1.36', '1.37'] as const
export type KubernetesVersion = (typeof VERSIONS)[number]
export const DEFAULT_VERSION: KubernetesVersion = '1.36'

/**
 * The sidecars of the driver: the Go sidecars, our image for each of them, or one process of ours that our Helm
 * chart installs.
 */
export const SIDECARS = ['go', 'ours', 'chart'] as const
export type SidecarVariant = (typeof SIDECARS)[number]

export type DriverChoice =
  | { readonly kind: 'ours' }
  /** csi-driver-host-path and its registrar, from the given files. */
  | { readonly kind: 'hostpath'; readonly file: string; readonly registrar: string }

/** Groups of Kubernetes' storage tests. */
export const TEST_GROUPS = ['usual', 'slow', 'mock', 'short'] as const
export type TestGroup = (typeof TEST_GROUPS)[number]

/** The settings of a node. Undefined: the value of the running node, or the default. */
export interface NodeSettings {
  readonly kubernetes: KubernetesVersion | undefined
  readonly driver: DriverChoice | undefined
}

/** The tests that a run of Kubernetes' storage tests includes. */
export interface TestSelection {
  readonly group: TestGroup
  /** A regular expression that replaces the selection of the group, but not its exclusion. */
  readonly focus: string | undefined
}

export type NodeCommand =
  | { readonly kind: 'up' | 'down' | 'results' }
  | { readonly kind: 'run'; readonly command: readonly string[] }
  | { readonly kind: 'deploy'; readonly sidecars: SidecarVariant | 'none' }
  | TestCommand

/** A command that tests something on the node, and has a row in the table of results. */
export type TestCommand =
  | { readonly kind: 'swap' | 'documents' | 'chart' | 'faults' }
  | { readonly kind: 'life'; readonly sidecars: readonly SidecarVariant[] }
  | { readonly kind: 'storage-tests'; readonly sidecars: readonly SidecarVariant[]; readonly selection: TestSelection }

/** The parsed arguments of `npm run node`. */
export interface NodeCommandLine {
  readonly command: NodeCommand
  readonly settings: NodeSettings
}

const USAGE = `npm run node -- COMMAND

Starts one real Kubernetes node in namespaces of its own, and runs tests of the sidecars there. It needs Linux and root.`

/** Parses the arguments. Throws a RefusedError if they are wrong. Returns `answered` if it has printed the help. */
export async function parseOptions(
  args: readonly string[],
  write: (text: string) => void,
): Promise<NodeCommandLine | 'answered'> {
  try {
    return await parse(args, write)
  } catch (error) {
    throw new RefusedError(
      `${messageOf(error).replaceAll(/\s*\n\s*/g, '; ')}: npm run node -- --help lists the commands`,
    )
  }
}

async function parse(args: readonly string[], write: (text: string) => void): Promise<NodeCommandLine | 'answered'> {
  let command: NodeCommand | undefined
  const sidecars = {
    type: 'string',
    describe: `Which sidecars, comma-separated: ${SIDECARS.join(',')}`,
    default: 'ours',
    requiresArg: true,
  } as const
  const simple = (simplest: NodeCommand) => (): void => {
    command = simplest
  }
  const parser = yargs([...args])
    .scriptName('npm run node --')
    .usage(USAGE)
    .parserConfiguration({ 'populate--': true })
    .options({
      kubernetes: {
        type: 'string',
        choices: VERSIONS,
        describe: `Version of Kubernetes. Default: ${VERSIONS[0]}`,
        requiresArg: true,
      },
      driver: {
        type: 'string',
        describe: 'ours, or hostpath=FILE for a built csi-driver-host-path',
        requiresArg: true,
      },
      registrar: { type: 'string', describe: 'A built csi-node-driver-registrar, for hostpath', requiresArg: true },
    })
    .command('up', 'Start the node', {}, simple({ kind: 'up' }))
    .command('down', 'End the node, and clean up after a killed one', {}, simple({ kind: 'down' }))
    .command('run', 'Run a command inside: run -- kubectl get pods -A', {}, (values) => {
      command = { kind: 'run', command: afterDashes(values) }
    })
    .command(
      'deploy <which>',
      `Deploy the driver with its sidecars: ${SIDECARS.join(', ')}; or none`,
      (each) => each.positional('which', { choices: [...SIDECARS, 'none'] as const, demandOption: true }),
      ({ which }) => {
        command = { kind: 'deploy', sidecars: which }
      },
    )
    .command('life', 'The life of a volume, from its claim to its deletion', { sidecars }, (values) => {
      command = { kind: 'life', sidecars: sidecarsIn(values.sidecars) }
    })
    .command(
      'storage-tests',
      "Kubernetes' own storage tests",
      {
        sidecars,
        group: { choices: TEST_GROUPS, default: 'usual' as const, describe: 'Which tests', requiresArg: true },
        focus: { type: 'string', describe: 'A regular expression that replaces the selection', requiresArg: true },
      },
      ({ sidecars: which, group, focus }) => {
        command = { kind: 'storage-tests', sidecars: sidecarsIn(which), selection: { group, focus } }
      },
    )
    .command('swap', 'Swap the Go sidecars for ours and back, below a pod that writes', {}, simple({ kind: 'swap' }))
    .command(
      'chart',
      "The chart's installation, upgrade, rollback and removal, and its promises",
      {},
      simple({ kind: 'chart' }),
    )
    .command(
      'documents',
      'The commands of the README, of the migration and of the operations page',
      {},
      simple({ kind: 'documents' }),
    )
    .command('faults', 'Restarts and kills of kubelet, containerd, driver and node', {}, simple({ kind: 'faults' }))
    .command('results', 'Write the table of the last runs into docs/testing.md', {}, simple({ kind: 'results' }))
    .demandCommand(1, 'no command')
    .strict()
    .version(false)
    .wrap(110)
    .locale('en')
    .exitProcess(false)
    .fail(throwRefusal)
  const values = await answeredOrValues(parser, args, write)
  if (values === 'answered' || command === undefined) return 'answered'
  refuseRepeated(values, ['kubernetes', 'driver', 'registrar', 'sidecars', 'group', 'focus'])
  return { command, settings: { kubernetes: values.kubernetes, driver: driverChoice(values.driver, values.registrar) } }
}

function driverChoice(driver: string | undefined, registrar: string | undefined): DriverChoice | undefined {
  const [kind, file] = driver === undefined ? [] : splitAtFirst(driver, '=')
  if (kind === 'hostpath' && file !== undefined) {
    if (registrar === undefined) throw new Error('--driver hostpath=FILE needs --registrar FILE')
    return { kind, file, registrar }
  }
  if (registrar !== undefined) throw new Error('--registrar FILE needs --driver hostpath=FILE')
  if (driver === undefined) return undefined
  if (driver === 'ours') return { kind: 'ours' }
  throw new Error(`--driver ${driver}: it is ours or hostpath=FILE`)
}

function splitAtFirst(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator)
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)]
}

function sidecarsIn(text: string): readonly SidecarVariant[] {
  return text.split(',').map((name) => {
    const found = SIDECARS.find((each) => each === name)
    if (found === undefined) throw new Error(`--sidecars ${name}: known are ${SIDECARS.join(', ')}`)
    return found
  })
}

function afterDashes(values: object): readonly string[] {
  const command = '--' in values && Array.isArray(values['--']) ? values['--'].map(String) : []
  if (command.length === 0) throw new Error('run needs a command: run -- kubectl get pods -A')
  return command
}
