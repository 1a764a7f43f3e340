import {
  type App,
  type ChartKey,
  type Flag,
  type FlagTable,
  type GateTable,
  prefixableFlags,
  STANDARD_FLAGS,
} from '@csi-sidecars/sidecar'
import {
  type AppName as NameByDefault,
  type NameOnRequest,
  SIDECARS,
  SIDECARS_ON_REQUEST,
} from '@csi-sidecars/sidecars'

export type AppName = NameByDefault | NameOnRequest

const IN_CHART = [...SIDECARS, ...SIDECARS_ON_REQUEST]
/** The sidecars with a section in values.yaml. Those on request are off by default. */
export const APPS: readonly AppName[] = IN_CHART.map(({ app }) => app)

/** The key of values.yaml that sets a flag. */
export interface FlagKey extends Exclude<ChartKey, { notInChartBecause: string }> {
  readonly flag: Flag
  /** The section of values.yaml with the key: a sidecar, `PROCESS`, `EACH`, or a common section such as `logging`. */
  readonly section: string
  /** The path of the key in the section, such as `labels`. */
  readonly name: string
}

function each<T>(of: (app: App) => T): Readonly<Record<AppName, T>> {
  return Object.fromEntries(IN_CHART.map(({ app, value }) => [app, of(value)])) as Record<AppName, T>
}

/** The flags of each sidecar in addition to the standard flags. */
export const OWN_FLAGS: Readonly<Record<AppName, FlagTable>> = each(({ flags }) => flags)

export const FLAG_TABLES: Readonly<Record<AppName, FlagTable>> = each(({ flags }) => [...STANDARD_FLAGS, ...flags])

export const GATES: Readonly<Record<AppName, GateTable>> = each(({ gates }) => gates)

/** The flags whose values may differ between the sidecars of a combined process. */
const FOR_ONE: ReadonlySet<string> = new Set(
  IN_CHART.flatMap(({ value }) => prefixableFlags(value)).map(({ name }) => name),
)

export const PROCESS = 'process'
export const EACH = 'each'

/** The flags that a value of the chart sets, standard flags first. */
export const FLAG_KEYS: readonly FlagKey[] = [
  ...STANDARD_FLAGS.flatMap((flag: Flag) => keyOf(flag, FOR_ONE.has(flag.name) ? EACH : PROCESS)),
  ...APPS.flatMap((app) => OWN_FLAGS[app].flatMap((flag) => keyOf(flag, app))),
]

function keyOf(flag: Flag, section: string): readonly FlagKey[] {
  const { chart } = flag
  if (chart === undefined || 'notInChartBecause' in chart) return []
  const [first = '', ...rest] = chart.key.split('.')
  const isOwn = rest.length === 0 || isOf(APPS, section)
  return [{ ...chart, flag, section: isOwn ? section : first, name: isOwn ? chart.key : rest.join('.') }]
}

/** Returns the flags of a sidecar that have no key in values.yaml, each with the reason. */
export function notInValues(app: AppName): Readonly<Record<string, string>> {
  return Object.fromEntries(
    FLAG_TABLES[app].flatMap(({ name, chart }: Flag) =>
      chart !== undefined && 'notInChartBecause' in chart ? [[name, chart.notInChartBecause]] : [],
    ),
  )
}

/** Returns the flags of a sidecar that a value of the chart sets. */
export function keysOf(app: AppName): readonly FlagKey[] {
  return FLAG_KEYS.filter(({ section }) => section === app || !isOf(APPS, section))
}

/** Returns the path of the key from the root of values.yaml, for a sidecar in a separate process. */
export function pathOf({ key, section }: FlagKey, app: AppName): string {
  return isOf([PROCESS, EACH, ...APPS], section) ? `${app}.${key}` : key
}

/** Returns the test value of the flag as text for the command line. */
export function textOf({ testValue, testArgument }: FlagKey): string {
  return testArgument ?? String(testValue)
}

/** Returns the path of the value that sets a flag. Undefined if no value sets it. */
export function valueKey(app: AppName, flag: string): string | undefined {
  const found = keysOf(app).find((each) => each.flag.name === flag)
  return found === undefined ? undefined : pathOf(found, app)
}

function isOf(sections: readonly string[], section: string): boolean {
  return sections.includes(section)
}
