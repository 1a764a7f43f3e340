import type { App, AppFlags, StartTable } from './app.ts'
import type { Question } from './capability-questions.ts'
import { type FlaggedApp, flagsForOne, parseCombined, processFlags } from './combined-flags.ts'
import { knownGatesText } from './feature-gates.ts'
import type { Flag, Flags, FlagTable } from './go-flags.ts'
import type { ConnectionFailures, HandshakeTable } from './handshake.ts'
import { type Member, memberOf, unfitFor } from './member.ts'
import type { Plan } from './plan.ts'
import { type Program, startOf } from './run-app.ts'
import { singleLeaseError } from './single-lease.ts'
import { STANDARD_FLAGS } from './standard-flags.ts'
import type { StandardFlags } from './start-checks.ts'
import { replacesText, usageText } from './usage.ts'

/** One app among several. What its flags hold is known to itself alone. */
export interface CombinedApp extends FlaggedApp {
  readonly name: string
  readonly replaces: string
  readonly start: StartTable
  readonly member: (flags: { readonly values: object; readonly given: ReadonlySet<string> }) => Member
}

/** Prepares an app for a process of several. */
export function combinable<const T extends FlagTable, N extends string>(app: App<T, N>): CombinedApp {
  return {
    name: app.name,
    replaces: app.replaces,
    prefix: app.prefix,
    flags: app.flags,
    gates: app.gates,
    start: app.start,
    // Values and given flags were read by the app's own table.
    member: (flags) => memberOf(app, flags as Flags<AppFlags<T>>),
  }
}

/** The program that runs several apps in one process. With one of them chosen it starts as that one alone does. */
export function combine(name: string, apps: readonly CombinedApp[]): Program {
  return {
    name,
    parse({ argv0, args }) {
      const parsed = parseCombined(apps, args)
      if (parsed.kind !== 'flags') return { ...parsed, usage: usage(argv0, apps) }
      const { running, flagsOf, singleLease } = parsed
      // Values and given flags were read by a table that begins with the standard flags.
      const standard = parsed.standard as unknown as StandardFlags
      const error = singleLeaseError(running, parsed.standard)
      if (error !== undefined) return { kind: 'refused', error, usage: usage(argv0, apps) }
      const members = running.map((app) => app.member(flagsOf(app)))
      const [only] = running.length === 1 ? running : []
      const plan: Plan = {
        members,
        table: only?.start ?? START,
        handshake: combinedHandshake(members),
        singleLease,
      }
      return startOf(plan, members.length === 1 && members[0] !== undefined ? members[0].standard : standard)
    },
  }
}

const START: StartTable = {
  failures: {
    gates: 'Failed to set feature gates',
    addresses: 'Only one of `--metrics-address` and `--http-endpoint` can be set',
    config: 'Failed to build a Kubernetes config',
    client: 'Failed to create a Kubernetes client',
    endpoint: 'Failed to start HTTP server',
  },
  gatesFirst: false,
  logsGates: false,
  endpointFirst: false,
  namePairs: (driverName) => ({ driverName }),
  context: () => ({}),
}

const FIRST: ConnectionFailures = {
  connect: { message: 'Failed to connect to the CSI driver' },
  probe: { message: 'Failed to probe the CSI driver' },
}

/** Asks each thing once, with the longest of the limits, and rests on all that the apps' choices rest upon. */
function combinedHandshake(members: readonly Member[]): HandshakeTable {
  const tables = members.map(({ handshake }) => handshake)
  const [only, ...others] = tables
  if (only !== undefined && others.length === 0) return only
  const longest = (of: (table: HandshakeTable) => number): number => Math.max(...tables.map(of))
  return {
    limits: { probeMs: longest(({ limits }) => limits.probeMs), nameMs: longest(({ limits }) => limits.nameMs) },
    failures: { first: FIRST, migrated: () => FIRST, name: { message: 'Failed to get the CSI driver name' } },
    questions: (driver) => {
      const all = members.flatMap((member) => questionsOf(member, members, driver))
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
            unfit: (known) => same.map(({ unfit }) => unfit?.(known)).find((error) => error !== undefined),
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

function questionsOf(member: Member, members: readonly Member[], driver: string): readonly Question[] {
  return member.handshake.questions(driver).map((question): Question => {
    const unfit: Question['unfit'] = (known) => {
      const error = question.unfit?.(known)
      return error && unfitFor(error, { member, members })
    }
    return { ...question, unfit }
  })
}

function maxLogLength(tables: readonly HandshakeTable[]): Pick<HandshakeTable, 'maxLogLength'> {
  const length = tables.map((table) => table.maxLogLength).find((each) => each !== undefined)
  return length === undefined ? {} : { maxLogLength: length }
}

/** The flags in groups: those for all, then each app's. */
function usage(argv0: string, apps: readonly CombinedApp[]): string {
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
