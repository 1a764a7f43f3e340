import type { GateTable } from './feature-gates.ts'
import { type Flag, type FlagTable, parseFlags, type RefusedFlags } from './go-flags.ts'
import { STANDARD_FLAGS } from './standard-flags.ts'

/** The parts of an app that determine its flags. */
export interface FlaggedApp {
  /** The prefix of its flags, and its name in --controllers: `attacher`. */
  readonly prefix: string
  readonly flags: FlagTable
  readonly gates?: GateTable
  /** The standard flags of an app that asks only the driver. Default: all. */
  readonly usedStandardFlags?: UsedStandardFlags
}

/** The flags of an app, by who may set them in the combined process. */
export interface UsedStandardFlags {
  /** Flags that need the prefix of the app if other apps run. */
  readonly needsPrefix: ReadonlySet<string>
  readonly shared: ReadonlySet<string>
}

/** The apps that a process can run. */
export interface AppChoice<A extends FlaggedApp> {
  /** The apps that run without --controllers. */
  readonly byDefault: readonly A[]
  /** The apps that run only if --controllers names them. */
  readonly onRequest?: readonly A[]
}

/** The standard flags that also exist with the prefix of an app, to set the value for this app only. */
const PREFIXABLE_STANDARD_FLAGS = new Set([
  'feature-gates',
  'leader-election',
  'leader-election-labels',
  'leader-election-lease-duration',
  'leader-election-namespace',
  'leader-election-renew-deadline',
  'leader-election-retry-period',
  'retry-interval-max',
  'retry-interval-start',
])

/** The flags of one app, as the app alone would have read them. */
export interface FlagsOfApp {
  readonly values: Readonly<Record<string, unknown>>
  readonly explicitFlags: ReadonlySet<string>
}

export type CombinedFlags<A extends FlaggedApp> =
  | { readonly kind: 'help' }
  | RefusedFlags
  | {
      readonly kind: 'flags'
      /** The apps that run, in the order of the help texts. */
      readonly running: readonly A[]
      readonly singleLease: string
      readonly flagsOf: (app: A) => FlagsOfApp
      /** The standard flags of the process. Flags of a single app are not included. */
      readonly standard: FlagsOfApp
    }

/** Returns the flags that belong to no app: --controllers and --single-lease. */
export function flagsOfProcess(choice: AppChoice<FlaggedApp>): readonly Flag[] {
  return [
    {
      name: 'controllers',
      type: 'string',
      default: prefixesOf(choice.byDefault).join(','),
      help: `Comma-separated controllers to run: ${prefixesOf(allApps(choice)).join(', ')}.`,
    },
    {
      name: 'single-lease',
      type: 'string',
      default: '',
      help:
        'Name of one Lease for all controllers, in the place of the one that each shares with its Go sidecar. ' +
        'Only for clusters in which neither a Go sidecar nor a single sidecar of ours runs for this driver.',
    },
  ]
}

/** Returns all apps in the order of the help texts. */
export function allApps<A extends FlaggedApp>({ byDefault, onRequest = [] }: AppChoice<A>): readonly A[] {
  return [...byDefault, ...onRequest]
}

const prefixesOf = (apps: readonly FlaggedApp[]): readonly string[] => apps.map(({ prefix }) => prefix)

/**
 * Returns the flags that may have the prefix of the app: its own flags, and standard flags whose value may differ
 * between apps.
 */
export function prefixableFlags({ flags, usedStandardFlags }: FlaggedApp): FlagTable {
  const names = usedStandardFlags?.needsPrefix ?? PREFIXABLE_STANDARD_FLAGS
  return [...flags, ...STANDARD_FLAGS.filter(({ name }) => names.has(name))]
}

/**
 * Reads a command line for several apps. A flag without a prefix sets the value for all apps that have the flag. A flag
 * with an app's prefix overrides the value for this app.
 */
export function parseCombined<A extends FlaggedApp>(choice: AppChoice<A>, args: readonly string[]): CombinedFlags<A> {
  const apps = allApps(choice)
  // The flag `-v5` is the notation of pflag.
  const parsed = parseFlags(
    combinedTable(choice),
    args.map((each) => each.replace(/^-v(?=\d+$)/, '-v=')),
  )
  if (parsed.kind !== 'flags') return parsed
  const { values, explicitFlags } = parsed.flags as FlagsOfApp
  const running = chooseApps(apps, String(values['controllers']))
  if ('error' in running) return { kind: 'refused', error: running.error }
  const idle = apps.filter((app) => !running.apps.includes(app))
  for (const app of idle) {
    const name = [...explicitFlags].find((each) => isOnlyOfApp(each, app, running.apps))
    if (name !== undefined) {
      return { kind: 'refused', error: `flag -${name} is for controller ${app.prefix}, which --controllers leaves out` }
    }
  }
  const unused = unusedStandardFlag(running.apps, explicitFlags)
  if (unused !== undefined) {
    const names = prefixesOf(running.apps).join(',')
    return { kind: 'refused', error: `flag -${unused} has no effect with --controllers=${names}` }
  }
  return {
    kind: 'flags',
    running: running.apps,
    singleLease: String(values['single-lease']),
    flagsOf: (app) => flagsForApp(app, running.apps, { values, explicitFlags }),
    standard: { values, explicitFlags },
  }
}

/** Returns all flags of the process. Aliases of an app's flag are included if no other flag has that name. */
function combinedTable(choice: AppChoice<FlaggedApp>): FlagTable {
  const apps = allApps(choice)
  const table = new Map<string, Flag>()
  const names = new Set(apps.flatMap(({ flags }) => flags.map(({ name }) => name)))
  for (const flag of [...flagsOfProcess(choice), ...STANDARD_FLAGS]) table.set(flag.name, flag)
  for (const app of apps) {
    for (const flag of app.flags) {
      if (!table.has(flag.name))
        table.set(
          flag.name,
          withAliases(flag, (alias) => (names.has(alias) ? [] : [alias])),
        )
    }
    for (const flag of prefixableFlags(app)) {
      const name = `${app.prefix}-${flag.name}`
      table.set(name, { ...withAliases(flag, (alias) => [`${app.prefix}-${alias}`]), name })
    }
  }
  return [...table.values()]
}

function withAliases(flag: Flag, change: (alias: string) => string[]): Flag {
  const { aliases, ...rest } = flag
  return aliases === undefined ? flag : ({ ...rest, aliases: aliases.flatMap(change) } as Flag)
}

function chooseApps<A extends FlaggedApp>(
  apps: readonly A[],
  text: string,
): { apps: readonly A[] } | { error: string } {
  const names = text.split(',').map((name) => name.trim())
  const prefixes = prefixesOf(apps)
  const wrong = names.find((name) => !prefixes.includes(name))
  if (wrong !== undefined) {
    return { error: `invalid value "${text}" for flag -controllers: "${wrong}" is none of ${prefixes.join(', ')}` }
  }
  return { apps: apps.filter(({ prefix }) => names.includes(prefix)) }
}

/** Returns a standard flag on the command line that no running app accepts. Only a `DriverApp` lacks standard flags. */
function unusedStandardFlag(running: readonly FlaggedApp[], explicitFlags: ReadonlySet<string>): string | undefined {
  const standard = STANDARD_FLAGS.map(({ name }) => name).filter((name) => explicitFlags.has(name))
  return standard.find((name) =>
    running.every(
      ({ usedStandardFlags }) =>
        usedStandardFlags && !usedStandardFlags.needsPrefix.has(name) && !usedStandardFlags.shared.has(name),
    ),
  )
}

/** Reports whether a flag is only for this app: the flag has its prefix, or no running app has such a flag. */
function isOnlyOfApp(name: string, app: FlaggedApp, running: readonly FlaggedApp[]): boolean {
  if (prefixableFlags(app).some((flag) => name === `${app.prefix}-${flag.name}`)) return true
  const has = (each: FlaggedApp): boolean =>
    each.flags.some((flag) => flag.name === name || flag.aliases?.includes(name) === true)
  return has(app) && !running.some(has)
}

function flagsForApp(app: FlaggedApp, running: readonly FlaggedApp[], all: FlagsOfApp): FlagsOfApp {
  const values: Record<string, unknown> = {}
  const explicitFlags = new Set<string>()
  for (const flag of [...STANDARD_FLAGS, ...app.flags]) {
    const prefixedName = `${app.prefix}-${flag.name}`
    const names = [prefixedName, ...sharedNames(flag, app, running)]
    const name = names.find((each) => all.explicitFlags.has(each))
    values[flag.name] = name === undefined ? flag.default : all.values[name]
    if (name !== undefined) explicitFlags.add(flag.name)
  }
  values['feature-gates'] = gatesFor(app, running, all)
  return { values, explicitFlags }
}

/** The names of the flag without the prefix, unless another app defines the same name. */
function sharedNames({ name, aliases = [] }: Flag, app: FlaggedApp, running: readonly FlaggedApp[]): readonly string[] {
  if (running.length > 1 && app.usedStandardFlags?.needsPrefix.has(name)) return []
  const others = running.filter((each) => each !== app).flatMap(({ flags }) => flags.map((flag) => flag.name))
  return [name, ...aliases.filter((alias) => !others.includes(alias))]
}

type Gates = ReadonlyMap<string, boolean>

/** The gates that set all alpha gates or all beta gates of every app. */
const ALL_OF_A_STAGE = ['AllAlpha', 'AllBeta']

/**
 * Returns the feature gates for an app: the gates in --feature-gates that it knows, and then the gates in its prefixed
 * flag. The first app also gets unknown gates, so that its start refuses them.
 */
function gatesFor(app: FlaggedApp, running: readonly FlaggedApp[], { values, explicitFlags }: FlagsOfApp): Gates {
  const shared = values['feature-gates'] as Gates
  const prefixedName = `${app.prefix}-feature-gates`
  const knowsGate = ({ gates }: FlaggedApp, gate: string): boolean =>
    ALL_OF_A_STAGE.includes(gate) || Object.hasOwn({ ...gates?.sidecarGates, ...gates?.permanent }, gate)
  const sharedGates = [...shared].filter(([gate]) => {
    const others = running.filter((each) => each !== app && knowsGate(each, gate))
    return knowsGate(app, gate) || (others.length === 0 && running[0] === app)
  })
  return new Map([...sharedGates, ...(explicitFlags.has(prefixedName) ? (values[prefixedName] as Gates) : [])])
}
