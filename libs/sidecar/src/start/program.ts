import type { Logger } from '@csi-sidecars/telemetry'
import type { App, AppFlags, AppSettings, DriverApp, StartTable } from '../app.ts'
import { combinedHandshake, DEFAULT_HANDSHAKE, type HandshakeTable } from '../driver/handshake-table.ts'
import { type AppChoice, allApps, flagsOfProcess, parseCombined, prefixableFlags } from '../flags/combined-flags.ts'
import { knownGatesText, resolveGates } from '../flags/feature-gates.ts'
import type { StandardFlags } from '../flags/flag-checks.ts'
import { type Flag, parseFlags, type RefusedFlags } from '../flags/go-flags.ts'
import { parsePFlags } from '../flags/pflag.ts'
import { STANDARD_FLAGS } from '../flags/standard-flags.ts'
import { replacesText, usageText } from '../flags/usage.ts'
import { singleLeaseError } from '../lease/lease-name.ts'
import type { Host } from '../process.ts'
import { StartError } from '../start-error.ts'

/** A program: reads its command line and starts its apps. */
export interface Program {
  readonly name: string
  /** Reads the command line, without side effects. Default of `env`: no variable is set. */
  readonly parse: (host: Pick<Host, 'argv0' | 'args'> & Partial<Pick<Host, 'env'>>) => Command
}

/** The meaning of a command line: help, an error or a start. */
export type Command =
  | { readonly kind: 'help'; readonly usage: string }
  | (RefusedFlags & { readonly usage: string })
  | (StartPlan & { readonly kind: 'start' })

/** The apps of a process, and the order and the messages of its start. */
export interface StartPlan {
  readonly sidecars: readonly ChosenApp[]
  readonly driverApps: readonly ChosenApp<DriverApp>[]
  /** The standard flags that apply to the whole process. */
  readonly standard: StandardFlags
  readonly table: StartTable
  readonly handshake: HandshakeTable
  /** The name of one Lease for all apps. Empty: one for each app. */
  readonly singleLease: string
}

/** One app of the process with its command line. */
export interface ChosenApp<A extends App | DriverApp = App> {
  readonly app: A
  readonly flags: AppFlags
  readonly settings: AppSettings
  /** The prefixes of the other apps in the process. */
  readonly companions: readonly string[]
}

/** The messages and the order of the start, for an app without a Go sidecar and for several apps in one process. */
export const DEFAULT_START: StartTable = {
  flagSyntax: 'flag',
  gatesFailed: 'Failed to set feature gates',
  bothAddressesError: 'Only one of `--metrics-address` and `--http-endpoint` can be set',
  configFailed: 'Failed to build a Kubernetes config',
  clientFailed: 'Failed to create a Kubernetes client',
  endpointFailed: 'Failed to start HTTP server',
  checksGatesBeforeVersion: false,
  logsRequestedGates: false,
  opensServerBeforeHandshake: false,
  exitsWithZeroOnSigint: false,
  startLogNamesDriver: false,
}

/** Returns the program that runs a single app. */
export function programOf(app: App): Program {
  const table = [...STANDARD_FLAGS, ...app.flags]
  const isPFlag = app.start?.flagSyntax === 'pflag'
  const parseArguments = isPFlag ? parsePFlags : parseFlags
  return {
    name: app.name,
    parse({ argv0, args, env = {} }) {
      const parsed = parseArguments(table, args)
      const usage = (): string =>
        usageText(argv0, table, {
          notes: { 'feature-gates': knownGatesText(app.gates) },
          dashes: isPFlag ? '--' : '-',
        }) + replacesText([app.replaces])
      if (parsed.kind !== 'flags') return { ...parsed, usage: usage() }
      const { flags } = parsed
      const settings = app.configure?.(flags, env) ?? {}
      if (settings.flagConflict !== undefined) {
        return { kind: 'refused', error: settings.flagConflict, usage: usage() }
      }
      return planOf({ sidecars: [{ app, flags, settings, companions: [] }], driverApps: [], flags, singleLease: '' })
    },
  }
}

/** Returns the program that runs several apps in one process. */
export function combine(name: string, choice: AppChoice<App | DriverApp>): Program {
  return {
    name,
    parse: (host) => parseAlone(choice, host) ?? parseTogether(choice, host),
  }
}

type CommandLine = Parameters<Program['parse']>[0]

/** Reads the command line as the only sidecar in --controllers does. Undefined if only the process has such flags. */
function parseAlone(choice: AppChoice<App | DriverApp>, { args, ...host }: CommandLine): Command | undefined {
  const ofProcess = ['single-lease', 'controllers', ...allApps(choice).map((app) => `${app.prefix}-`)]
  const at = args.findIndex((each) => /^--?controllers(?:=|$)/.test(each))
  const [flag = '', value] = args.slice(at, at + 2)
  const equals = flag.indexOf('=')
  const prefix = equals < 0 ? value : flag.slice(equals + 1)
  const app = at < 0 ? undefined : allApps(choice).find((each) => each.prefix === prefix)
  const others = args.toSpliced(at, equals < 0 ? 2 : 1)
  const isOfProcess = (each: string): boolean =>
    ofProcess.some((start) => each.startsWith(`-${start}`) || each.startsWith(`--${start}`))
  if (app === undefined || 'open' in app || others.some(isOfProcess)) return undefined
  return programOf(app).parse({ ...host, args: others })
}

/** Reads the command line of several apps. A flag with the prefix of an app is for this app only. */
function parseTogether(choice: AppChoice<App | DriverApp>, { argv0, args, env = {} }: CommandLine): Command {
  const parsed = parseCombined(choice, args)
  if (parsed.kind !== 'flags') return { ...parsed, usage: combinedUsage(argv0, choice) }
  const { running, flagsOf, singleLease } = parsed
  const sidecarOf = <A extends App | DriverApp>(app: A): ChosenApp<A> => {
    // The flags were read with the table of the app, so that the cast is safe.
    const flags = flagsOf(app) as AppFlags
    const settings = 'configure' in app ? (app.configure?.(flags, env) ?? {}) : {}
    return { app, flags, settings, companions: running.flatMap((each) => (each === app ? [] : [each.prefix])) }
  }
  const sidecars = running.flatMap((app) => ('open' in app ? [] : [sidecarOf(app)]))
  const driverApps = running.flatMap((app) => ('open' in app ? [sidecarOf(app)] : []))
  const error =
    singleLeaseError(running, parsed.standard) ??
    sidecars.map(({ settings }) => settings.flagConflict).find((each) => each !== undefined) ??
    onEachNodeError(sidecars, running)
  if (error !== undefined) return { kind: 'refused', error, usage: combinedUsage(argv0, choice) }
  const [only, ...others] = sidecars
  // The flags were read with a table that contains the standard flags, so that the cast is safe.
  const flags = only !== undefined && others.length === 0 ? only.flags : (parsed.standard as AppFlags)
  return planOf({ sidecars, driverApps, flags, singleLease })
}

function planOf({
  flags,
  ...sidecarsToStart
}: Pick<StartPlan, 'sidecars' | 'driverApps' | 'singleLease'> & { readonly flags: AppFlags }): Command {
  const [only, ...others] = sidecarsToStart.sidecars
  const table = { ...DEFAULT_START, ...(others.length === 0 && only?.app.start) }
  const handshake = combinedHandshake(sidecarsToStart.sidecars.map(handshakeOf))
  return { kind: 'start', ...sidecarsToStart, standard: standardOf(flags), table, handshake }
}

export function standardOf(flags: AppFlags): StandardFlags {
  // The table of each app begins with the standard flags, so that the cast is safe.
  return flags as unknown as StandardFlags
}

/** Returns the handshake of an app. Its errors say how to start without this app. */
function handshakeOf(sidecar: ChosenApp): HandshakeTable {
  const table = { ...DEFAULT_HANDSHAKE, ...sidecar.settings.handshake }
  const questions: HandshakeTable['questions'] = (driver) =>
    table.questions(driver).map(({ startError, ...question }) => ({
      ...question,
      startError: (facts) => notApplicable(startError?.(facts), sidecar),
    }))
  return { ...table, questions }
}

/** Returns the error of an app that needs a leader in a process that runs on each node. */
function onEachNodeError(sidecars: readonly ChosenApp[], running: readonly (App | DriverApp)[]): string | undefined {
  const central = sidecars.filter(({ settings }) => settings.onEachNode !== true).map(({ app }) => app.prefix)
  if (central.length === 0 || central.length === sidecars.length) return undefined
  const others = running.map(({ prefix }) => prefix).filter((prefix) => !central.includes(prefix))
  return `flag -node-deployment is not for the ${central.join(' and the ')}, which needs a leader: use --controllers=${others.join(',')}`
}

/** Reports whether a signal drains work and releases the lease: the gate must be on in every app that defines it. */
export function releasesOnExit({ sidecars }: StartPlan): boolean {
  const name = 'ReleaseLeaderElectionOnExit'
  if (sidecars.length === 0) return false
  return sidecars.every(({ app, flags }) => {
    if (!Object.hasOwn(app.gates.sidecarGates, name)) return true
    const resolvedGates = resolveGates(app.gates, standardOf(flags).values['feature-gates'])
    return resolvedGates.kind === 'refused' || resolvedGates.gates.isEnabled(name)
  })
}

/** Returns the log of an app. If several apps run, each line names its sidecar. */
export function logOf({ app, companions }: ChosenApp<App | DriverApp>, log: Logger): Logger {
  return companions.length > 0 ? log.with({ sidecar: app.name }) : log
}

/** Returns a function for `catch`. If several apps run, the line that ends the start names the sidecar. */
export function withSidecarName({ app, companions }: ChosenApp): (error: unknown) => never {
  return (error) => {
    throw error instanceof StartError && companions.length > 0 ? error.with({ pairs: { sidecar: app.name } }) : error
  }
}

/** Adds advice to the error of an app that cannot serve this driver: how to start without this app. */
export function notApplicable<E>(error: E, { companions }: ChosenApp): E | StartError {
  if (!(error instanceof StartError) || companions.length === 0) return error
  return error.with({ message: `${error.message}: use --controllers=${companions.join(',')}` })
}

/** Returns the usage in groups: the shared flags, then the flags of each app. */
function combinedUsage(argv0: string, choice: AppChoice<App | DriverApp>): string {
  const apps = allApps(choice)
  const gates = new Set(apps.flatMap((app) => ('gates' in app ? knownGatesText(app.gates).split('\n') : [])))
  const notes = { 'feature-gates': [...gates].join('\n') }
  const groups = apps.map(({ prefix, flags, ...app }) => {
    const names = prefixableFlags({ prefix, flags, ...app }).filter(
      ({ name }) => !flags.some((flag) => flag.name === name),
    )
    const prefixed = flags.map((flag): Flag => ({ ...flag, name: `${prefix}-${flag.name}`, aliases: [] }))
    const standard = names.map(({ name }) => `-${prefix}-${name}`).join(' ')
    const title = `Flags of the ${prefix}, also without the prefix, and for it alone ${standard}`
    return usageText(title, prefixed).replace('Usage of ', '')
  })
  const shared = usageText(argv0, [...flagsOfProcess(choice), ...STANDARD_FLAGS], { notes })
  return [shared, ...groups].join('\n') + replacesText(apps.map(({ replaces }) => replaces))
}
