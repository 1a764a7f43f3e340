import type { Question } from '../driver/capability-questions.ts'
import type { HandshakeTable } from '../driver/handshake-table.ts'
import { type FlaggedApp, type FlagsOfApp, flagsForOne, parseCombined, processFlags } from '../flags/combined-flags.ts'
import { knownGatesText } from '../flags/feature-gates.ts'
import type { Flag, Flags, FlagTable } from '../flags/go-flags.ts'
import { STANDARD_FLAGS } from '../flags/standard-flags.ts'
import { replacesText, usageText } from '../flags/usage.ts'
import { singleLeaseError } from '../lease/single-lease.ts'
import type { App, AppFlags, StartTable } from './app.ts'
import { DEFAULT_HANDSHAKE, DEFAULT_START, startTable } from './defaults.ts'
import type { DriverApp, DriverAppInstance } from './driver-app.ts'
import { instanceOf, logOf, notApplicable, type SidecarInstance } from './instance.ts'
import { type Program, startOf } from './program.ts'
import type { StandardFlags } from './start-checks.ts'

/** One app among several. The types of its flags are hidden. */
export type CombinedApp = CombinedControllers | CombinedDriverApp

interface CombinedControllers extends FlaggedApp {
  readonly kind: 'controllers'
  readonly name: string
  readonly replaces: string
  readonly start: StartTable
  readonly instance: (flags: FlagsOfApp, companions: readonly string[]) => SidecarInstance
}

interface CombinedDriverApp extends FlaggedApp {
  readonly kind: 'driver'
  readonly name: string
  readonly replaces: string
  readonly instance: (flags: FlagsOfApp, companions: readonly string[]) => DriverAppInstance
}

/** Prepares an app for a process of several. */
export function combinable<const T extends FlagTable, N extends string>(
  app: App<T, N>,
  { released = true }: { readonly released?: boolean } = {},
): CombinedControllers {
  return {
    kind: 'controllers',
    name: app.name,
    replaces: app.replaces,
    prefix: app.prefix,
    released,
    flags: app.flags,
    gates: app.gates,
    start: startTable(app),
    // Values and given flags were read by the app's own table.
    instance: (flags, companions) => instanceOf(app, flags as unknown as Flags<AppFlags<T>>, companions),
  }
}

/** Prepares a driver app for a process of several. It runs only where --controllers names it. */
export function combinableDriverApp<const T extends FlagTable>(app: DriverApp<T>): CombinedDriverApp {
  const { name, prefix, replaces, flags, driverFlags, endsToo } = app
  return {
    kind: 'driver',
    name,
    replaces,
    prefix,
    released: true,
    byDefault: false,
    flags,
    driverFlags,
    gates: { own: {}, permanent: {} },
    instance: (values, companions) => ({
      replaces,
      endsToo,
      open: ({ log, ...parts }) =>
        // Values and given flags were read by the app's own table.
        app.open({
          ...parts,
          log: logOf({ name, companions }, log),
          flags: values as unknown as Flags<AppFlags<T>>,
        }),
    }),
  }
}

/** The program that runs several apps in one process. With one of them selected it starts as that one alone does. */
export function combine(name: string, apps: readonly CombinedApp[]): Program {
  return {
    name,
    parse({ argv0, args, env = {} }) {
      const parsed = parseCombined(apps, args)
      if (parsed.kind !== 'flags') return { ...parsed, usage: usage(argv0, apps) }
      const { running, flagsOf, singleLease } = parsed
      // Values and given flags were read by a table that begins with the standard flags.
      const standard = parsed.standard as unknown as StandardFlags
      const prefixes = running.map(({ prefix }) => prefix)
      const others = ({ prefix }: FlaggedApp): readonly string[] => prefixes.filter((each) => each !== prefix)
      const controllers = running.filter((app) => app.kind === 'controllers')
      const driverApps = running.filter((app) => app.kind === 'driver')
      const instances = controllers.map((app) => app.instance(flagsOf(app), others(app)))
      const error =
        singleLeaseError(running, parsed.standard) ??
        instances.map((instance) => instance.contradiction(env)).find((each) => each !== undefined) ??
        onEachNodeError(instances, prefixes)
      if (error !== undefined) return { kind: 'refused', error, usage: usage(argv0, apps) }
      const [only] = controllers.length === 1 ? controllers : []
      const plan = {
        instances,
        driverApps: driverApps.map((app) => app.instance(flagsOf(app), others(app))),
        table: only?.start ?? DEFAULT_START,
        handshake: combinedHandshake(instances),
        singleLease,
      }
      return startOf(plan, instances.length === 1 && instances[0] !== undefined ? instances[0].standard : standard)
    },
  }
}

/** One process on each node runs no controller that needs a leader. */
function onEachNodeError(instances: readonly SidecarInstance[], prefixes: readonly string[]): string | undefined {
  if (!instances.some(({ onEachNode }) => onEachNode)) return undefined
  const central = instances.filter(({ onEachNode }) => !onEachNode).map(({ prefix }) => prefix)
  if (central.length === 0) return undefined
  const others = prefixes.filter((prefix) => !central.includes(prefix)).join(',')
  return `flag -node-deployment is not for the ${central.join(' and the ')}, which needs a leader: use --controllers=${others}`
}

/** Asks each question once, with the longest of the limits. All that is decisive for an app is decisive for the process. */
function combinedHandshake(instances: readonly SidecarInstance[]): HandshakeTable {
  const tables = instances.map(({ handshake }) => handshake)
  const [only, ...others] = instances
  if (only !== undefined && others.length === 0) {
    return { ...only.handshake, questions: (driver) => questionsOf(only, driver) }
  }
  const longest = (of: (table: HandshakeTable) => number): number => Math.max(...tables.map(of))
  return {
    limits: { probeMs: longest(({ limits }) => limits.probeMs), nameMs: longest(({ limits }) => limits.nameMs) },
    failures: DEFAULT_HANDSHAKE.failures,
    questions: (driver) => {
      const all = instances.flatMap((instance) => questionsOf(instance, driver))
      return (['plugin', 'controller', 'node'] as const).flatMap((about) => {
        const same = all.filter((question) => question.about === about)
        const [first] = same
        if (first === undefined) return []
        return [
          {
            about,
            when: (known) => same.some(({ when }) => when?.(known) !== false),
            limitMs: Math.max(...same.map(({ limitMs }) => limitMs)),
            failure: { message: 'Failed to get the capabilities of the CSI driver', during: `${about} capabilities` },
            startError: (known) =>
              same.map(({ startError }) => startError?.(known)).find((error) => error !== undefined),
          },
        ]
      })
    },
    decisive: {
      plugin: tables.flatMap(({ decisive }) => decisive.plugin ?? []),
      controller: tables.flatMap(({ decisive }) => decisive.controller ?? []),
      node: tables.flatMap(({ decisive }) => decisive.node ?? []),
    },
    namedFrom: 'name',
    ...maxLogLength(tables),
  }
}

function questionsOf(instance: SidecarInstance, driver: string): readonly Question[] {
  return instance.handshake.questions(driver).map((question): Question => {
    const startError: Question['startError'] = (known) => {
      const error = question.startError?.(known)
      return error && notApplicable(error, instance)
    }
    return { ...question, startError }
  })
}

function maxLogLength(tables: readonly HandshakeTable[]): Pick<HandshakeTable, 'maxLogLength'> {
  const length = tables.map((table) => table.maxLogLength).find((each) => each !== undefined)
  return length === undefined ? {} : { maxLogLength: length }
}

/** The flags in groups: those for all, then each app's. */
function usage(argv0: string, all: readonly CombinedApp[]): string {
  const apps = all.filter(({ released }) => released)
  const shared = [...processFlags(apps), ...STANDARD_FLAGS]
  const gates = new Set(apps.flatMap((app) => knownGatesText(app.gates).split('\n')))
  const notes = { 'feature-gates': [...gates].join('\n') }
  const groups = apps.map((app) => {
    const names = flagsForOne(app).filter(({ name }) => !app.flags.some((flag) => flag.name === name))
    const own: FlagTable = app.flags.map((flag): Flag => ({ ...flag, name: `${app.prefix}-${flag.name}`, aliases: [] }))
    const also = names.map(({ name }) => `-${app.prefix}-${name}`).join(' ')
    const title = `Flags of the ${app.prefix}, also without the prefix, and for it alone ${also}`
    return usageText(title, own).replace('Usage of ', '')
  })
  return [usageText(argv0, shared, notes), ...groups].join('\n') + replacesText(apps.map(({ replaces }) => replaces))
}
