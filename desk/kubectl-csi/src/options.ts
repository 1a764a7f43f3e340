import { readFileSync } from 'node:fs'
import { answeredOrValues, throwRefusal } from '@csi-sidecars/base'
import { STUCK_AFTER_MS } from '@csi-sidecars/waits'
import yargs from 'yargs'
import { KINDS, type SubjectKind } from './facts/collect.ts'
import { durationMs } from './output/age.ts'
import type { PlanQuestion } from './plan/command.ts'
import type { WorkloadRef } from './plan/reading/from-cluster.ts'
import type { WorkloadKind } from './plan/workload.ts'

/** The subcommand and its arguments. */
export type CommandQuestion =
  | {
      readonly ask: 'explain'
      readonly kind: SubjectKind
      readonly name: string
      readonly namespace: string | undefined
    }
  | { readonly ask: 'stuck' }
  | { readonly ask: 'unreferenced' }
  | PlanQuestion

/** The command line of `kubectl csi`. */
export interface PluginOptions {
  readonly question: CommandQuestion
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly json: boolean
  readonly stuckAfterMs: number
}

const ALIASES: Readonly<Record<SubjectKind, readonly string[]>> = {
  pod: ['pod', 'pods', 'po'],
  pvc: ['pvc', 'persistentvolumeclaim', 'persistentvolumeclaims'],
  pv: ['pv', 'persistentvolume', 'persistentvolumes'],
  va: ['va', 'volumeattachment', 'volumeattachments'],
  node: ['node', 'nodes', 'no'],
  vs: ['vs', 'volumesnapshot', 'volumesnapshots'],
  vsc: ['vsc', 'volumesnapshotcontent', 'volumesnapshotcontents', 'vscs'],
}

const WORKLOADS: Readonly<Record<string, WorkloadKind>> = {
  deployment: 'Deployment',
  deployments: 'Deployment',
  deploy: 'Deployment',
  statefulset: 'StatefulSet',
  statefulsets: 'StatefulSet',
  sts: 'StatefulSet',
  daemonset: 'DaemonSet',
  daemonsets: 'DaemonSet',
  ds: 'DaemonSet',
}

const USAGE =
  'Says what objects wait for, since when, and what to do, about volumes that are created, attached, resized, modified or deleted, and about snapshots. Plans the swap of the Go sidecars of a driver. It reads, and never writes.'

/** Throws one line that says what is wrong with the arguments. */
export async function parseOptions(
  args: readonly string[],
  write: (text: string) => void,
): Promise<PluginOptions | 'answered'> {
  let question: CommandQuestion | undefined
  const parser = yargs([...args])
    .scriptName('kubectl-csi')
    .usage(`$0 COMMAND\n\n${USAGE}`)
    // If a flag is repeated, the last value counts, as in kubectl.
    .parserConfiguration({ 'duplicate-arguments-array': false })
    .options({
      kubeconfig: { type: 'string', describe: 'Path to the kubeconfig file to use', requiresArg: true },
      context: { type: 'string', describe: 'The context of the kubeconfig to use', requiresArg: true },
      output: { alias: 'o', choices: ['text', 'json'], default: 'text', describe: 'Output format', requiresArg: true },
      'older-than': {
        alias: 'stuck-after',
        type: 'string',
        default: `${STUCK_AFTER_MS / 60_000}m`,
        describe: 'The age from which on an object that waits is stuck',
        requiresArg: true,
      },
    })
    .command(
      'explain <kind> [name]',
      'What an object waits for: explain pod|pvc|pv|va|node|vs|vsc NAME',
      (command) =>
        command
          .positional('kind', {
            type: 'string',
            describe: `${Object.keys(KINDS).join(', ')}; or KIND/NAME`,
            demandOption: true,
          })
          .positional('name', { type: 'string', describe: 'Name of the object' })
          .option('namespace', { alias: 'n', type: 'string', describe: 'Namespace of the object', requiresArg: true }),
      ({ kind, name, namespace }) => {
        question = explainQuestion(kind, name, namespace)
      },
    )
    .command('stuck', 'All objects of the cluster that are stuck', {}, () => {
      question = { ask: 'stuck' }
    })
    .command('unreferenced', 'Volumes and snapshots of the back end that no object names, and the reverse', {}, () => {
      question = { ask: 'unreferenced' }
    })
    .command(
      'plan [kind] [name]',
      'How to swap the Go sidecars of a pod: plan deployment/NAME, or plan -f MANIFEST',
      (command) =>
        command
          .positional('kind', { type: 'string', describe: 'deployment, statefulset or daemonset; or KIND/NAME' })
          .positional('name', { type: 'string', describe: 'Name of the object' })
          .options({
            namespace: { alias: 'n', type: 'string', describe: 'Namespace of the object', requiresArg: true },
            filename: {
              alias: 'f',
              type: 'string',
              describe: 'A manifest, or - for the standard input. The cluster is not asked',
              requiresArg: true,
            },
            driver: { type: 'string', describe: 'Name of the CSI driver, if it is not found', requiresArg: true },
            registry: {
              type: 'string',
              default: 'ghcr.io/csi-sidecars',
              describe: 'The registry and folder of the images of this project',
              requiresArg: true,
            },
          }),
      ({ kind, name, namespace, filename, driver, registry }) => {
        const workload = kind === undefined ? undefined : workloadRef(kind, name, namespace)
        if (workload === undefined && filename === undefined) {
          throw new Error('plan: of which object? Give deployment/NAME, or -f and a manifest')
        }
        question = {
          ask: 'plan',
          workload,
          namespace,
          filename,
          driver,
          images: { registry: registry.replace(/\/$/, ''), version: programVersion() },
        }
      },
    )
    .completion(
      'completion',
      'A script for bash or zsh that completes commands and options',
      (current: string, argv: unknown, defaults: () => void, done: (completions: string[]) => void) =>
        wantsKind(argv, current) ? done(Object.keys(KINDS).filter((kind) => kind.startsWith(current))) : defaults(),
    )
    .demandCommand(1, 'say what to do: explain, stuck, unreferenced or plan')
    .strict()
    .version(`kubectl-csi ${programVersion()}`)
    .wrap(100)
    .locale('en')
    .exitProcess(false)
    .fail(throwRefusal)
  const values = await answeredOrValues(parser, args.flatMap(apart), write)
  if (values === 'answered' || question === undefined) return 'answered'
  const stuckAfterMs = durationMs(values['older-than'])
  if (stuckAfterMs === undefined) throw new Error(`--older-than ${values['older-than']}: a duration is as 30s or 5m`)
  const { kubeconfig, context, output } = values
  return { question, kubeconfig, context, json: output === 'json', stuckAfterMs }
}

/** Splits `-ojson` into two words, as kubectl does. Otherwise yargs reads it as five options. */
function apart(word: string): readonly string[] {
  const [, option, value] = /^(-[fno])([^=].*)$/s.exec(word) ?? []
  return option === undefined || value === undefined ? [word] : [option, value]
}

/** Reports whether the user is typing the first word after `explain`. */
function wantsKind(argv: unknown, current: string): boolean {
  const typed = typeof argv === 'object' && argv !== null && '_' in argv && Array.isArray(argv._) ? argv._ : []
  return typed.includes('explain') && typed.length - typed.indexOf('explain') <= 2 && !current.startsWith('-')
}

/** Reads the object to explain, given as `pod web` or as `pod/web`. */
function explainQuestion(argument: string, name: string | undefined, namespace: string | undefined): CommandQuestion {
  const [word = '', ...rest] = name === undefined ? argument.split('/') : [argument]
  const kind = (Object.keys(ALIASES) as SubjectKind[]).find((each) => ALIASES[each].includes(word.toLowerCase()))
  if (kind === undefined) throw new Error(`explain ${word}: known are ${Object.keys(KINDS).join(', ')}`)
  const named = name ?? rest.join('/')
  if (named === '') throw new Error(`explain ${word}: which one? Give its name`)
  return { ask: 'explain', kind, name: named, namespace }
}

/** Reads the object to plan for, given as `deployment web` or as `deployment/web`. */
function workloadRef(
  argument: string,
  name: string | undefined,
  namespace: string | undefined,
): Omit<WorkloadRef, 'namespace'> & { readonly namespace: string | undefined } {
  const [word = '', ...rest] = name === undefined ? argument.split('/') : [argument]
  const lower = word.toLowerCase().replace(/\.apps$/, '')
  const kind = Object.hasOwn(WORKLOADS, lower) ? WORKLOADS[lower] : undefined
  if (kind === undefined) throw new Error(`plan ${word}: known are deployment, statefulset, daemonset`)
  const named = name ?? rest.join('/')
  if (named === '') throw new Error(`plan ${word}: which one? Give its name`)
  return { kind, name: named, namespace }
}

declare const __VERSION__: string | undefined

/** Returns the version, such as `v1.2.3`. The build embeds it; a program that runs from source reads package.json. */
function programVersion(): string {
  if (typeof __VERSION__ !== 'undefined') return __VERSION__
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return `v${version}`
}
