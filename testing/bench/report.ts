/** Prints one measurement, a figure a line. */
export function table(title: string, figures: Readonly<Record<string, number>>): void {
  console.log(`\n${title}`)
  for (const [what, figure] of Object.entries(figures))
    console.log(`  ${what.padEnd(44)} ${figure.toFixed(2).padStart(10)}`)
}
