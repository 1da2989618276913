// Numbers: decoding of those stored in the page as text, and formatting.

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const VALUES = new Map([...LETTERS].map((letter, value) => [letter, value]));

// Decode integers stored with five bits per letter. One of the first 32 letters ends a number.
function decodeNumbers(text) {
  const numbers = [];
  let number = 0, scale = 1;
  for (const letter of text) {
    const value = VALUES.get(letter);
    number += (value & 31) * scale;
    scale *= 32;
    if (value < 32) {
      numbers.push(number);
      number = 0;
      scale = 1;
    }
  }
  return numbers;
}

// Three decimals, or three significant digits for small and large numbers, as the library prints costs.
function formatCost(value) {
  if (!isFinite(value)) return "∞";
  const size = Math.abs(value);
  return value === 0 || (size >= 0.001 && size < 1000) ? value.toFixed(3) : String(Number(value.toPrecision(3)));
}

function formatSignificant(value, digits) {
  return Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 12 });
}

function formatSigned(value) {
  return value.toFixed(3).replace(/^-(0\.0+)$/, "$1");
}

function formatPercent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

function formatCount(count) {
  return Number(count.toPrecision(12)).toLocaleString("en", { maximumFractionDigits: 2 });
}

const logit = (p) => Math.log(p) - Math.log1p(-p);

// Quantile of the standard normal distribution (Acklam's rational approximation, relative error 1e-9).
function probit(p) {
  if (p <= 0) return -Infinity;
  if (p >= 1) return Infinity;
  const a = [-39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716, 2.506628277459239];
  const b = [-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572, 1];
  const c = [-0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968, 2.938163982698783];
  const d = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1];
  const at = (coefficients, x) => coefficients.reduce((sum, next) => sum * x + next, 0);
  const tail = Math.min(p, 1 - p);
  if (tail < 0.02425) {
    const q = Math.sqrt(-2 * Math.log(tail)), z = at(c, q) / at(d, q);
    return p < 0.5 ? z : -z;
  }
  const q = p - 0.5, r = q * q;
  return (q * at(a, r)) / at(b, r);
}
