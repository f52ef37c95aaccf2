# Hashes of hashes and arrays of strings: filled, inverted, sorted, emptied.
use strict;
use warnings;

my $rounds = $ARGV[0] // 20;
my $seed = 42;
sub next_random { $seed = ($seed * 1103515245 + 12345) % 2147483648; return $seed >> 8 }

my $total = 0;
for my $round (1 .. $rounds) {
	my %by_name;
	for my $i (1 .. 12000) {
		my $key = "key" . next_random() % 4000;
		push @{ $by_name{$key}{values} }, "value-$i";
		$by_name{$key}{count}++;
		$by_name{$key}{"last" . $i % 3} = join(",", $i, $i * 2);
	}
	my %by_count;
	push @{ $by_count{ $by_name{$_}{count} } }, $_ for sort keys %by_name;
	for my $n (sort { $a <=> $b } keys %by_count) {
		my @names = map { uc } grep { /[13579]$/ } @{ $by_count{$n} };
		$total += @names + length join("", @names);
	}
	delete $by_name{$_} for grep { /7/ } keys %by_name;
	$total += keys %by_name;
}
print "$total\n";
