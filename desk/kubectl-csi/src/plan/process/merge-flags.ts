import { parseCombined, prefixableFlags, STANDARD_FLAGS } from '@csi-sidecars/sidecar/command-line'
import { expanded, type LiteralVariables } from '../containers/command.ts'
import { type AcceptedFlag, gatesIn } from '../flags/check-flags.ts'
import { inOrder, KNOWN_SIDECARS, SIDECAR_NAMES, type SidecarName } from '../sidecars.ts'

/** The accepted flags of one container, with the flags that keep the behaviour of its version. */
export interface FlagsToMerge {
  readonly sidecar: SidecarName
  readonly flags: readonly AcceptedFlag[]
}

export type MergedFlags =
  | {
      readonly kind: 'merged'
      readonly args: readonly string[]
      /** The settings whose value in the one process differs from the value of a container. */
      readonly notes: readonly string[]
    }
  | { readonly kind: 'refused'; readonly why: string }

/** The flags that a process has once, with the rule for containers that differ. */
const SHARED_RULES: Readonly<Record<string, 'first' | 'highest' | 'sum' | 'equal'>> = {
  'csi-address': 'first',
  'http-endpoint': 'first',
  'kube-api-burst': 'sum',
  'kube-api-qps': 'sum',
  kubeconfig: 'equal',
  'metrics-address': 'first',
  'metrics-path': 'first',
  v: 'highest',
}

/** The standard flags that each controller of the process may have for itself. */
const FOR_ONE: ReadonlySet<string> = forOneController()
const ENDPOINT: ReadonlySet<string> = new Set(['http-endpoint', 'metrics-address', 'metrics-path'])

/** Returns one command line for several sidecars. All of them talk to the same driver. */
export function mergeFlags(containers: readonly FlagsToMerge[]): MergedFlags {
  const order = inOrder(containers.map(({ sidecar }) => sidecar))
  const all = order.flatMap((name) => containers.filter(({ sidecar }) => sidecar === name).map(lastValues))
  const notes: string[] = []
  const shared: string[] = [`--controllers=${order.join(',')}`]
  for (const { name } of STANDARD_FLAGS) {
    if (FOR_ONE.has(name)) {
      shared.push(...perSidecar(name, all))
      continue
    }
    const explicitValues = all.flatMap(({ sidecar, values }) => {
      const value = isOwnEndpoint(sidecar, name) ? undefined : values.get(name)
      return value === undefined ? [] : [{ sidecar, value }]
    })
    if (explicitValues.length === 0) continue
    if (name === 'metrics-address' && controllersGive('http-endpoint', all)) {
      notes.push(
        `--metrics-address=${explicitValues.map(({ value }) => value).join(' and ')} is left out: --http-endpoint serves the metrics`,
      )
      continue
    }
    const merged = sharedValue(name, explicitValues, all)
    if ('refused' in merged) return { kind: 'refused', why: merged.refused }
    if (merged.note !== undefined) notes.push(merged.note)
    shared.push(flagText(name, merged.value))
  }
  const args = [...shared, ...all.flatMap(ownFlags)]
  const refusal = refusalOf(args)
  if (refusal !== undefined) return { kind: 'refused', why: refusal }
  const placement = placementProblem(all)
  return placement === undefined ? { kind: 'merged', args, notes } : { kind: 'refused', why: placement }
}

interface SidecarValues {
  readonly sidecar: SidecarName
  /** The effective text of each explicit flag. Gates of several flags are merged. */
  readonly values: ReadonlyMap<string, string>
}

function lastValues({ sidecar, flags }: FlagsToMerge): SidecarValues {
  const values = new Map<string, string>()
  const gates = new Map<string, boolean>()
  for (const { flag, value } of flags) {
    if (flag.type === 'gates') for (const [gate, isOn] of gatesIn(value)) gates.set(gate, isOn)
    else values.set(flag.name, value)
  }
  if (gates.size > 0) values.set('feature-gates', [...gates].map(([gate, isOn]) => `${gate}=${isOn}`).join(','))
  return { sidecar, values }
}

/** Reports whether the endpoint flag belongs to the livenessprobe, which has an endpoint of its own in the process. */
function isOwnEndpoint(sidecar: SidecarName, name: string): boolean {
  return sidecar === 'livenessprobe' && ENDPOINT.has(name)
}

/** Reports whether a controller has the flag. The flag of the livenessprobe is for its own endpoint. */
function controllersGive(name: string, all: readonly SidecarValues[]): boolean {
  return all.some(({ sidecar, values }) => sidecar !== 'livenessprobe' && values.has(name))
}

/** Returns a flag once if all sidecars have the same value, otherwise with the prefix of each sidecar. */
function perSidecar(name: string, all: readonly SidecarValues[]): readonly string[] {
  const able = all.filter(({ sidecar }) => sidecar !== 'livenessprobe')
  const values = new Set(able.map(({ values }) => values.get(name)))
  const [only] = values
  if (values.size === 1 && only !== undefined && name !== 'feature-gates') return [flagText(name, only)]
  return able.flatMap(({ sidecar, values }) => {
    const value = values.get(name)
    return value === undefined ? [] : [flagText(`${sidecar}-${name}`, value)]
  })
}

/** Returns the flags of a sidecar that no other sidecar has, with its prefix. */
function ownFlags({ sidecar, values }: SidecarValues): readonly string[] {
  const flagNames = new Set(KNOWN_SIDECARS[sidecar].flags.map(({ name }) => name))
  return [...values].flatMap(([name, value]) =>
    flagNames.has(name) || isOwnEndpoint(sidecar, name) ? [flagText(`${sidecar}-${name}`, value)] : [],
  )
}

type SharedValue = { readonly value: string; readonly note?: string | undefined } | { readonly refused: string }

interface ExplicitValue {
  readonly sidecar: SidecarName
  readonly value: string
}

function sharedValue(
  name: string,
  explicitValues: readonly ExplicitValue[],
  all: readonly SidecarValues[],
): SharedValue {
  const values = [...new Set(explicitValues.map(({ value }) => value))]
  const [first = ''] = values
  const rule = SHARED_RULES[name]
  if (rule === 'sum') return summed(name, explicitValues, all)
  if (values.length === 1) return { value: first }
  if (rule === 'equal') return { refused: `the containers have different values of --${name}: ${values.join(', ')}` }
  const value = rule === 'highest' ? String(Math.max(...values.map(Number))) : first
  // The path of the socket may differ, because each container mounts the folder where it wants.
  const note = name === 'csi-address' ? undefined : `--${name} is ${value} for all, of ${values.join(' and ')}`
  return { value, note }
}

/** The limits of the API server apply to the whole process. A controller without the flag counts with the default. */
function summed(name: string, explicitValues: readonly ExplicitValue[], all: readonly SidecarValues[]): SharedValue {
  const byDefault = STANDARD_FLAGS.find((flag) => flag.name === name)?.default
  const controllers = all.filter(({ sidecar }) => sidecar !== 'livenessprobe')
  const numbers = controllers.map(({ values }) => Number(values.get(name) ?? byDefault))
  if (numbers.some((number) => !Number.isFinite(number))) {
    return {
      refused: `the value of --${name} is known only in the pod: ${explicitValues.map(({ value }) => value).join(', ')}`,
    }
  }
  // A negative number lifts the limit.
  if (numbers.some((number) => number < 0)) return { value: '-1' }
  const value = String(numbers.reduce((sum, number) => sum + number, 0))
  return { value, note: numbers.length > 1 ? `--${name} is ${value}, the sum of ${numbers.join(', ')}` : undefined }
}

function flagText(name: string, value: string): string {
  return `--${name}=${value}`
}

function forOneController(): ReadonlySet<string> {
  const names = new Set<string>(STANDARD_FLAGS.map(({ name }) => name))
  const ofAttacher = prefixableFlags(KNOWN_SIDECARS.attacher).map(({ name }) => name)
  return new Set(ofAttacher.filter((name) => names.has(name)))
}

/** Reads the command line as the process does, without values that only the pod knows. */
function refusalOf(args: readonly string[]): string | undefined {
  const choice = { byDefault: SIDECAR_NAMES.map((name) => KNOWN_SIDECARS[name]) }
  const literalArgs = args.filter((argument) => expanded(argument, NO_VARIABLES) !== undefined)
  const parsed = parseCombined(choice, literalArgs)
  return parsed.kind === 'refused' ? parsed.error : undefined
}

const NO_VARIABLES: LiteralVariables = new Map()

/** A process acts on one node or on all nodes. */
function placementProblem(all: readonly SidecarValues[]): string | undefined {
  const controllers = all.filter(({ sidecar }) => sidecar !== 'livenessprobe')
  const onNode = controllers.filter(({ values }) => values.get('node-deployment') === 'true')
  if (onNode.length === 0 || onNode.length === controllers.length) return undefined
  const central = controllers.filter((each) => !onNode.includes(each)).map(({ sidecar }) => sidecar)
  return `${onNode.map(({ sidecar }) => sidecar).join(', ')} run for each node, and ${central.join(', ')} for the cluster`
}
