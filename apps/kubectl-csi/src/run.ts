import type { Clock } from '@csi-sidecars/base'
import { adviserOf } from './advice/advice.ts'
import { operationsText } from './advice/operations.ts'
import { collect, KINDS } from './facts/collect.ts'
import { collectAll } from './facts/collect-all.ts'
import { collectPending } from './facts/collect-pending.ts'
import { collectSidecarPods } from './facts/collect-sidecars.ts'
import { FactCollection } from './facts/collection.ts'
import { type ClusterFacts, type KindRef, textOf } from './facts/facts.ts'
import { ApiReader, type ReadOnlyClient } from './facts/reader.ts'
import { explainedFindings } from './findings/chain.ts'
import { claimHasFindings } from './findings/claim.ts'
import type { WaitFinding } from './findings/finding.ts'
import { findingsOf } from './findings/findings.ts'
import type { CommandQuestion, PluginOptions } from './options.ts'
import { EXIT_CODES, explanationJson, verdictOf } from './output/explanation.ts'
import { stuckJson, stuckText } from './output/stuck-list.ts'
import { explanationText } from './output/text.ts'
import { WELL } from './output/well.ts'

export interface Surroundings {
  readonly client: ReadOnlyClient
  /** The namespace of the kubeconfig's context. */
  readonly namespace: string
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly write: (text: string) => void
}

/** Thrown if the object to explain does not exist. */
export class NoSuchObjectError extends Error {
  override readonly name = 'NoSuchObjectError'
}

/** Answers the question. Resolves with the exit code: 0 well, 1 stuck, 2 unknown. */
export function run(options: PluginOptions, around: Surroundings): Promise<number> {
  const { question } = options
  return question.ask === 'stuck' ? stuck(options, around) : explain(question, options, around)
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
  around: Surroundings,
): Promise<number> {
  const adviser = adviserOf(operationsText())
  const { client, clock, signal, write } = around
  const namespaced = question.kind === 'pod' || question.kind === 'pvc' || question.kind === 'vs'
  const namespace = namespaced ? (question.namespace ?? around.namespace) : undefined
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

/** Returns the findings and the facts. Lists objects that are not understood as not seen. */
function found(facts: ClusterFacts): { readonly facts: ClusterFacts; readonly findings: readonly WaitFinding[] } {
  const { findings, unseen } = findingsOf(facts)
  return { facts: { ...facts, unseen: [...facts.unseen, ...unseen] }, findings }
}
