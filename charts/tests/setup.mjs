// Once before all tests: Helm is built where it is not installed and Go is.
import { provideHelm } from './helm.ts'

export default function setup() {
  const lacking = provideHelm()
  if (lacking !== undefined) process.stdout.write(`${lacking}\n`)
}
