/**
 * How the Helm chart sets a flag. Templates, schema and tables of the chart are made from it, and their tests; the build
 * leaves it out of the executables (`tools/chart-keys.mjs`).
 */
export type ChartKey =
  | {
      /** Below the section of the sidecar, or with a dot below the values as a whole. */
      readonly key: string
      /** A value for tests that is not the default. */
      readonly sample: unknown
      /** What the sample is passed as, where that is not its own text. */
      readonly text?: string
      /** The least number that the chart takes. */
      readonly minimum?: number
      /** The template of this flag is written by hand, because it is not the plain value. */
      readonly by?: 'hand'
    }
  /** Only additionalArgs passes it, for this reason. */
  | { readonly none: string }
