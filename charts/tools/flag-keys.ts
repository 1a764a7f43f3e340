import {
  type App,
  type ChartKey,
  type Flag,
  type FlagTable,
  flagsForOne,
  type GateTable,
  STANDARD_FLAGS,
} from '@csi-sidecars/sidecar'
import { PREVIEWS, type PreviewName, type AppName as Released, SIDECARS } from '@csi-sidecars/sidecars'

export type AppName = Released | PreviewName

const IN_CHART = [...SIDECARS, ...PREVIEWS]
/** The sidecars with a section in the values. Previews are off by default. */
export const APPS: readonly AppName[] = IN_CHART.map(({ app }) => app)

function each<T>(of: (app: App) => T): Readonly<Record<AppName, T>> {
  return Object.fromEntries(IN_CHART.map(({ app, value }) => [app, of(value)])) as Record<AppName, T>
}

/** The flags of each sidecar in addition to the standard ones. */
export const OWN_FLAGS: Readonly<Record<AppName, FlagTable>> = each(({ flags }) => flags)

export const FLAG_TABLES: Readonly<Record<AppName, FlagTable>> = each(({ flags }) => [...STANDARD_FLAGS, ...flags])

export const GATES: Readonly<Record<AppName, GateTable>> = each(({ gates }) => gates)

/** Flags whose value one sidecar of a process can set for itself. */
const FOR_ONE: ReadonlySet<string> = new Set(
  IN_CHART.flatMap(({ value }) => flagsForOne(value)).map(({ name }) => name),
)

/** How the chart's values set a flag. */
export interface FlagKey extends Exclude<ChartKey, { none: string }> {
  readonly flag: Flag
  /**
   * The section of the values that has the key: of one sidecar, of each process, of each sidecar, or of a common
   * subject.
   */
  readonly section: string
  /** Below the section: `labels`. */
  readonly name: string
}

export const PROCESS = 'process'
export const EACH = 'each'

/** Flags with a key, standard ones first. */
export const FLAG_KEYS: readonly FlagKey[] = [
  ...STANDARD_FLAGS.flatMap((flag: Flag) => keyOf(flag, FOR_ONE.has(flag.name) ? EACH : PROCESS)),
  ...APPS.flatMap((app) => OWN_FLAGS[app].flatMap((flag) => keyOf(flag, app))),
]

function keyOf(flag: Flag, own: string): readonly FlagKey[] {
  const { chart } = flag
  if (chart === undefined || 'none' in chart) return []
  const [first = '', ...rest] = chart.key.split('.')
  const isOwn = rest.length === 0 || isOf(APPS, own)
  return [{ ...chart, flag, section: isOwn ? own : first, name: isOwn ? chart.key : rest.join('.') }]
}

/** Returns the flags of a sidecar that only `additionalArgs` can set, each with the reason. */
export function notInValues(app: AppName): Readonly<Record<string, string>> {
  return Object.fromEntries(
    FLAG_TABLES[app].flatMap(({ name, chart }: Flag) =>
      chart !== undefined && 'none' in chart ? [[name, chart.none]] : [],
    ),
  )
}

/** The flags of a sidecar that a value sets. */
export function keysOf(app: AppName): readonly FlagKey[] {
  return FLAG_KEYS.filter(({ section }) => section === app || !isOf(APPS, section))
}

/** The key from the root of the values, for a sidecar in a process of its own. */
export function pathOf({ key, section }: FlagKey, app: AppName): string {
  return isOf([PROCESS, EACH, ...APPS], section) ? `${app}.${key}` : key
}

/** Returns the sample as the text of an argument. */
export function textOf({ sample, text }: FlagKey): string {
  return text ?? String(sample)
}

/** The key of the chart's values for a flag. */
export function valueKey(app: AppName, flag: string): string | undefined {
  const found = keysOf(app).find((each) => each.flag.name === flag)
  return found === undefined ? undefined : pathOf(found, app)
}

function isOf(sections: readonly string[], section: string): boolean {
  return sections.includes(section)
}
