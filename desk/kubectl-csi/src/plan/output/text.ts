import { yamlText } from '@csi-sidecars/kube-client'
import { oneLine } from '../../output/explanation.ts'
import { type FindingWeight, type PlanFinding, weightOf } from '../finding.ts'
import type { PatchPair } from '../patches/json-patch.ts'
import type { PlannedContainer, SwapPlan } from '../plan.ts'
import { KNOWN_SIDECARS } from '../sidecars.ts'
import { textOfWorkload } from '../workload.ts'
import { helmUpgrade, kubectlPatch, kustomizePatch, valuesOfChart } from './patches.ts'
import { roleManifests } from './roles.ts'
import { sentenceOf } from './sentences.ts'

type PlanSection = 'before' | 'check' | 'kept' | 'go' | 'note' | 'jsonOnly'

/** Returns the section of the text that contains a finding. Smaller changes are in the JSON only. */
function sectionOf(finding: PlanFinding): PlanSection {
  switch (finding.kind) {
    case 'remainsGo':
    case 'livenessprobe':
    case 'unknownImage':
    case 'fork':
    case 'otherStarter':
      return 'go'
    case 'change':
      if (finding.isKept) return 'kept'
      return weightOf(finding) === 'note' ? 'jsonOnly' : SECTIONS[weightOf(finding)]
    default:
      return SECTIONS[weightOf(finding)]
  }
}

const SECTIONS: Readonly<Record<FindingWeight, PlanSection>> = { stop: 'before', check: 'check', note: 'note' }

/** Returns the plan as text: the answer first, then what to do before the swap, and last the patches. */
export function planText(plan: SwapPlan): string {
  const { findings, workload, containers, toImages, toOneProcess } = plan
  const of = (section: PlanSection): readonly PlanFinding[] => findings.filter((each) => sectionOf(each) === section)
  const paragraphs = [
    headline(plan),
    section('Before the swap', of('before').map(sentenceOf)),
    section('Check', of('check').map(sentenceOf)),
    rightsPart(plan),
    section('What remains Go, and why', of('go').map(sentenceOf)),
    `Containers\n${containers.map(containerText).join('\n')}`,
    section('The patches keep the older behaviour', of('kept').map(sentenceOf)),
    section('Good to know', of('note').map(sentenceOf)),
    section('Smaller changes, with more about each in -o json', titlesOf(of('jsonOnly'))),
    ...patchParts(plan),
    toImages === undefined && toOneProcess === undefined
      ? `There is nothing to patch in ${textOfWorkload(workload)}.`
      : undefined,
  ]
  return `${paragraphs.filter((part) => part !== undefined).join('\n\n')}\n`
}

function headline({ workload, containers, findings, toOneProcess }: SwapPlan): string {
  const swapped = containers.filter(({ swappedTo }) => swappedTo !== undefined)
  const stops = findings.filter((finding) => weightOf(finding) === 'stop').length
  const checks = findings.filter((finding) => weightOf(finding) === 'check').length
  const count = `${swapped.length} of ${containers.length} containers can get our images`
  const one = toOneProcess === undefined ? '' : ', or one process can replace them'
  const tasks = `${counted(stops, 'thing')} to do before, ${counted(checks, 'thing')} to check.`
  return `${textOfWorkload(workload)}: ${count}${one}. ${stops + checks === 0 ? 'Nothing has to be done before.' : tasks}`
}

function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`
}

function section(title: string, sentences: readonly string[]): string | undefined {
  if (sentences.length === 0) return undefined
  return `${title}\n${sentences.map((sentence) => `  - ${oneLine(sentence)}`).join('\n')}`
}

/** Returns a line for each container with the titles of its smaller changes. */
function titlesOf(findings: readonly PlanFinding[]): readonly string[] {
  const titles = new Map<string, string[]>()
  for (const finding of findings) {
    if (finding.kind !== 'change') continue
    const { container, change } = finding
    titles.set(container, [...(titles.get(container) ?? []), `${change.title} (${change.since})`])
  }
  return [...titles].map(([container, all]) => `${container}: ${all.join(', ')}`)
}

/** The level of YAML from which on a rule of a role is one line. */
const RULE_LEVEL = 2

function rightsPart({ workload, findings }: SwapPlan): string | undefined {
  const manifests = roleManifests(workload, findings)
  if (manifests.length === 0) return undefined
  const documents = manifests.map((manifest) => yamlText(manifest, RULE_LEVEL)).join('---\n')
  return `The rights, to paste into kubectl apply -f -. Leave out the rules that the driver does not need\n${indented(documents)}`
}

function containerText({ name, image, identity, flags, added, swappedTo }: PlannedContainer): string {
  const head = `  ${name}: ${oneLine(image)}`
  if (identity.kind !== 'sidecar' || flags === undefined) return head
  const { original, replaces } = KNOWN_SIDECARS[identity.sidecar]
  const version = identity.version === undefined ? 'of an unknown version' : `v${identity.version}`
  const lines = [
    head,
    `    ${original} ${version} -> ${swappedTo ?? 'in the one process only'}, which is like ${replaces}`,
    ...flagLine('kept', flags.kept),
    ...flagLine('accepted with a warning', argumentsOf(flags.warned)),
    ...flagLine('removed', argumentsOf(flags.refused)),
    ...flagLine('added', added),
  ]
  return lines.join('\n')
}

function flagLine(title: string, args: readonly string[]): readonly string[] {
  return args.length === 0 ? [] : [`    ${title}: ${args.map(oneLine).join(' ')}`]
}

function argumentsOf(checked: readonly { readonly argument: string }[]): readonly string[] {
  return [...new Set(checked.map(({ argument }) => argument))]
}

function patchParts(plan: SwapPlan): readonly (string | undefined)[] {
  const { toImages, toOneProcess, helm } = plan
  return [
    toImages && patchText('1. To our images, one for each container', plan, toImages),
    toImages && helmPart(plan),
    toOneProcess && patchText('2. To one process, instead of our images', plan, toOneProcess),
    helm && toOneProcess && POST_RENDERER,
  ]
}

const POST_RENDERER =
  'No value of a chart removes containers: give the Kustomize patch of the one process to Helm as a post-renderer, or its next upgrade brings the containers back.'

function helmPart(plan: SwapPlan): string | undefined {
  const { helm, containers } = plan
  if (helm === undefined) return undefined
  const title = `Helm manages the object as release ${helm.release}, and its next upgrade restores the images.`
  const values = valuesOfChart(plan)
  if (values === undefined) {
    return `${title} Set the images in the values of the chart, or give Helm the Kustomize patch as a post-renderer.`
  }
  const isOfArguments = containers.some(({ added, flags }) => added.length > 0 || (flags?.refused.length ?? 0) > 0)
  const flags = isOfArguments ? ' Change the arguments in the values, too: see "added" and "removed" above.' : ''
  return `${title} Write values.yaml, and run ${helmUpgrade(helm)}.${flags}\n${indented(values)}`
}

function patchText(title: string, { workload }: SwapPlan, { forward, back }: PatchPair): string {
  return [
    title,
    indented(kubectlPatch(workload, forward)),
    '',
    '  Back to the Go sidecars',
    indented(kubectlPatch(workload, back)),
    '',
    '  The same in kustomization.yaml. To go back, remove it',
    indented(kustomizePatch(workload, forward)),
  ].join('\n')
}

function indented(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')
}
