import type { Advisory } from '../patch/advisory.ts'
import type { Assessment } from './assessments.ts'
import type { Feature } from './features.ts'

/** A document of OpenVEX (https://openvex.dev). */
export interface OpenVex {
  readonly '@context': 'https://openvex.dev/ns/v0.2.0'
  readonly '@id': string
  readonly author: string
  readonly timestamp: string
  readonly version: 1
  readonly statements: readonly Statement[]
}

export type Statement = {
  readonly vulnerability: { readonly name: string }
  readonly products: readonly { readonly '@id': string }[]
} & (
  | {
      readonly status: 'not_affected'
      readonly justification: 'vulnerable_code_not_in_execute_path'
      readonly impact_statement: string
    }
  | { readonly status: 'affected'; readonly action_statement: string }
)

export interface OpenVexOptions {
  readonly assessments: readonly Assessment[]
  /** What the bundles load. */
  readonly loaded: readonly Feature[]
  /** The repository on GitHub: `owner/name`. */
  readonly home: string
  readonly version: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** The names of what is released, and those of which there is an image. */
  readonly names: readonly string[]
  readonly images: readonly string[]
}

/** Undefined if there is nothing to say: a document must have a statement. */
export function openVex({
  assessments,
  loaded,
  home,
  version,
  createdAt,
  names,
  images,
}: OpenVexOptions): OpenVex | undefined {
  if (assessments.length === 0) return undefined
  const products = names.flatMap((name) => [
    ...(images.includes(name) ? [`pkg:oci/${name}?tag=${version}`] : []),
    `pkg:generic/${name}@${version}`,
  ])
  return {
    '@context': 'https://openvex.dev/ns/v0.2.0',
    '@id': `https://github.com/${home}/releases/download/${version}/openvex.json`,
    author: `https://github.com/${home}`,
    timestamp: new Date(createdAt).toISOString(),
    version: 1,
    statements: assessments.map((assessment) => ({
      vulnerability: { name: assessment.advisory },
      products: products.map((id) => ({ '@id': id })),
      ...verdictOf(assessment, loaded),
    })),
  }
}

function verdictOf(assessment: Assessment, loaded: readonly Feature[]) {
  if ('action' in assessment) return { status: 'affected', action_statement: assessment.action } as const
  const { needs, because } = assessment
  if (loaded.includes(needs)) {
    const action_statement = `It needs ${needs}, which this version loads. Update to the next patch release.`
    return { status: 'affected', action_statement } as const
  }
  const impact_statement = `It needs ${needs}, which nothing here loads: ${because}`
  return { status: 'not_affected', justification: 'vulnerable_code_not_in_execute_path', impact_statement } as const
}

/** The advisories without an assessment, a line each. One may have several names. */
export function unassessed(advisories: readonly Advisory[], assessments: readonly Assessment[]): readonly string[] {
  const assessed = new Set(assessments.map(({ advisory }) => advisory))
  return advisories
    .filter(({ id }) => !id.split(' ').some((name) => assessed.has(name)))
    .map(({ id, component }) => `${id} about ${component} has no row in images/vex/assessments.ts`)
}
