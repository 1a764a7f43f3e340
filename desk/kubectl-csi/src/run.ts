import type { Clock } from '@csi-sidecars/base'
import { adviserOf, operationsText } from './advice/advice.ts'
import { collect, KINDS, type SubjectKind } from './facts/collect.ts'
import { collectAll } from './facts/collect-all.ts'
import { collectPending } from './facts/collect-pending.ts'
import { collectSidecarPods } from './facts/collect-sidecars.ts'
import { FactCollection } from './facts/collection.ts'
import { type ClusterFacts, claimNamesOf, groupedBy, type KindRef, keyOf, objectOf, textOf } from './facts/facts.ts'
import { ApiReader, NoSuchObjectError, type ReadOnlyClient } from './facts/reader.ts'
import { explainedFindings } from './findings/chain.ts'
import { claimHasFindings } from './findings/claim.ts'
import { volumeNameOf } from './findings/contexts.ts'
import type { WaitFinding } from './findings/finding.ts'
import { findingsOf } from './findings/findings.ts'
import type { CommandQuestion, PluginOptions } from './options.ts'
import { ageText } from './output/age.ts'
import { EXIT_CODES, explanationJson, findingJson, jsonText, oneLine, verdictOf } from './output/explanation.ts'
import { explanationText, missingPart, unseenPart } from './output/text.ts'
import { planFromCluster } from './plan/command.ts'
import { unreferenced } from './unreferenced/command.ts'

/** The cluster, the clock and the output of a command. */
export interface Surroundings {
  readonly client: ReadOnlyClient
  /** The namespace of the kubeconfig's context. */
  readonly namespace: string
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly write: (text: string) => void
}

/**
 * Runs the subcommand. Resolves with the exit code of `explain` and `stuck`: 0 if nothing is stuck, 1 if something is, 2
 * if unknown. The exit codes of the others are in their `command.ts`.
 */
export async function run(options: PluginOptions, context: Surroundings): Promise<number> {
  const { question } = options
  switch (question.ask) {
    case 'explain':
      return await explain(question, options, context)
    case 'stuck':
      return await stuck(options, context)
    case 'unreferenced':
      return await unreferenced(options.json, context)
    case 'plan':
      return await planFromCluster(question, options.json, context)
    default:
      return question satisfies never
  }
}

async function stuck(options: PluginOptions, { client, clock, signal, write }: Surroundings): Promise<number> {
  const into = new FactCollection(new ApiReader(client, signal))
  await collectAll(into, claimHasFindings)
  await collectSidecarPods(into, 'holders')
  await collectPending(into, clock, signal)
  const { facts, findings: all } = found(into.facts(clock.now(), options.stuckAfterMs))
  const findings = all.filter((finding) => finding.stuck)
  write(options.json ? stuckJson(findings, facts) : stuckText(findings, facts))
  return EXIT_CODES[verdictOf(findings, facts)]
}

async function explain(
  question: CommandQuestion & { ask: 'explain' },
  options: PluginOptions,
  context: Surroundings,
): Promise<number> {
  const adviser = adviserOf(operationsText())
  const { client, clock, signal, write } = context
  const namespaced = question.kind === 'pod' || question.kind === 'pvc' || question.kind === 'vs'
  const namespace = namespaced ? (question.namespace ?? context.namespace) : undefined
  const subject: KindRef = { kind: KINDS[question.kind], ...(namespaced ? { namespace } : {}), name: question.name }
  const into = new FactCollection(new ApiReader(client, signal))
  if (!(await collect(question.kind, subject, into))) throw new NoSuchObjectError(`${textOf(subject)} does not exist`)
  await collectSidecarPods(into, 'namespaces')
  await collectPending(into, clock, signal)
  const { facts, findings: all } = found(into.facts(clock.now(), options.stuckAfterMs))
  const findings = explainedFindings(all, subject, facts)
  const explained = { subject, findings, facts, adviser }
  const well = WELL[question.kind](subject, facts)
  write(options.json ? explanationJson(explained) : explanationText({ ...explained, well }))
  return EXIT_CODES[verdictOf(findings, facts)]
}

/** Returns the findings and the facts. Lists objects with an unexpected shape as not seen. */
function found(facts: ClusterFacts): { readonly facts: ClusterFacts; readonly findings: readonly WaitFinding[] } {
  const { findings, unseen } = findingsOf(facts)
  return { facts: { ...facts, unseen: [...facts.unseen, ...unseen] }, findings }
}

/** The maximum number of objects that the text lists for one reason. JSON lists all objects. */
const MAX_OF_ONE_REASON = 20

/** Returns a summary, and one line for each stuck object, grouped by reason, with the longest wait first. */
function stuckText(findings: readonly WaitFinding[], facts: ClusterFacts): string {
  const paragraphs = [summary(findings, facts)]
  for (const [reason, group] of byReason(findings)) {
    const lines = group.slice(0, MAX_OF_ONE_REASON).map((finding) => lineOf(finding, facts.now))
    const more = group.length - lines.length
    if (more > 0) lines.push(`  and ${more} more, all of them with -o json`)
    paragraphs.push(`${reason} (${group.length})\n${lines.join('\n')}`)
  }
  return `${[...paragraphs, ...missingPart(facts), ...unseenPart(facts)].join('\n\n')}\n`
}

function summary(findings: readonly WaitFinding[], facts: ClusterFacts): string {
  if (findings.length === 0) {
    return verdictOf(findings, facts) === 'unknown'
      ? 'It is unknown whether anything is stuck, because not all could be read.'
      : 'Nothing is stuck.'
  }
  const since = findings.flatMap((finding) => finding.since ?? [])
  const age = since.length === 0 ? '' : `, the oldest for ${ageText(facts.now - Math.min(...since))}`
  return `${findings.length} ${findings.length === 1 ? 'object is' : 'objects are'} stuck${age}. More on each: kubectl csi explain.`
}

function byReason(findings: readonly WaitFinding[]): ReadonlyMap<string, readonly WaitFinding[]> {
  return groupedBy(findings, ({ reason }) => reason)
}

function lineOf({ object, waiter, waitsFor, since, atLeast }: WaitFinding, now: number): string {
  const age = since === undefined ? '?' : `${atLeast ? '>' : ''}${ageText(now - since)}`
  return `  ${age.padEnd(7)} ${textOf(object)}: ${waiter} waits for ${oneLine(waitsFor)}`
}

function stuckJson(findings: readonly WaitFinding[], facts: ClusterFacts): string {
  const items = findings.map((finding) => findingJson(finding, facts.now))
  const missingPermissions = Object.fromEntries(facts.missingPermissions)
  return jsonText({ verdict: verdictOf(findings, facts), items, missingPermissions, unseen: facts.unseen })
}

const NOTHING_STUCK = 'nothing is stuck.'

/** The text to print for each kind of object if nothing is stuck. */
const WELL: Readonly<Record<SubjectKind, (subject: KindRef, facts: ClusterFacts) => string>> = {
  pod: (subject, { pods }) => {
    const pod = pods.find(({ metadata }) => metadata?.name === subject.name && metadata.namespace === subject.namespace)
    const claims = pod === undefined ? [] : claimNamesOf(pod)
    if (claims.length === 0) return `${NOTHING_STUCK} It uses no claims.`
    return `${NOTHING_STUCK} Its claims ${claims.join(', ')} have what they ask for.`
  },
  pvc: (subject, { claims }) => {
    const claim = objectOf(claims.get(keyOf(subject)))
    const { capacity, currentVolumeAttributesClassName: className } = claim?.status ?? {}
    const classText = className === undefined ? '' : `, and VolumeAttributesClass ${className}`
    return `${NOTHING_STUCK} It has ${capacity?.['storage'] ?? 'no capacity'} as asked for, in ${claim?.spec?.volumeName}${classText}.`
  },
  pv: (subject, { attachments }) => {
    const nodes = attachments.filter((va) => volumeNameOf(va) === subject.name).map(({ spec }) => spec?.nodeName)
    return `${NOTHING_STUCK} It is attached to ${nodes.length === 0 ? 'no node' : nodes.join(', ')}.`
  },
  va: (subject, { attachments }) => {
    const spec = attachments.find(({ metadata }) => metadata?.name === subject.name)?.spec
    return `${NOTHING_STUCK} Volume ${spec?.source.persistentVolumeName} is attached to node ${spec?.nodeName}.`
  },
  vs: ({ namespace, name }, { snapshots }) => {
    const { status } = objectOf(snapshots.get(keyOf({ namespace, name }))) ?? {}
    return `${NOTHING_STUCK} It is ready, in ${status?.boundVolumeSnapshotContentName}.`
  },
  vsc: ({ name }, { contents }) => {
    const { status } = objectOf(contents.get(name)) ?? {}
    return `${NOTHING_STUCK} It is ready, as snapshot ${status?.snapshotHandle}.`
  },
  node: (_, { attachments }) => `${NOTHING_STUCK} Volumes attached to it: ${attachments.length}.`,
}
